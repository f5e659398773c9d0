"""Chat turns as token ids, by the tokenizer's own template. What was sampled is never encoded again."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agent_evo_dagster.errors import TrainingError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase
else:
    PreTrainedTokenizerBase = Any


class ChatRenderer:
    """The ids before the first turn, and the ids that follow a turn: conversations only ever grow at the end.

    Raises:
        TrainingError: the tokenizer has no chat template, or one whose turns do not end in its EOS token.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._tokenizer = tokenizer
        self._after_turn: dict[tuple[str, ...], tuple[int, ...]] = {}
        if not tokenizer.chat_template or tokenizer.eos_token is None:
            raise TrainingError("The tokenizer has no chat template or no EOS token; agents need both.")
        self.end_of_turn: int = tokenizer.eos_token_id
        self.pad: int = self.end_of_turn if tokenizer.pad_token_id is None else tokenizer.pad_token_id

    def prompt(self, messages: Sequence[dict[str, str]]) -> tuple[int, ...]:
        """Ids of `messages` and of the opening of the assistant's turn."""
        return self.encode(self._render(messages, opens_turn=True))

    def after_turn(self, results: tuple[str, ...]) -> tuple[int, ...]:
        """Ids that follow the end-of-turn token: tool results as one block, and the next turn's opening."""
        if results not in self._after_turn:
            self._after_turn[results] = self.encode(self._suffix(results))
        return self._after_turn[results]

    def encode(self, text: str) -> tuple[int, ...]:
        """Ids of `text`, control tokens recognised: for text of ours, never for what a model sampled."""
        return tuple(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def text(self, ids: Sequence[int]) -> str:
        """Decoded text, control tokens included."""
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=False))

    def _suffix(self, results: tuple[str, ...]) -> str:
        turn = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
        before = self._render(turn, opens_turn=False)
        end = before.rfind(self._tokenizer.eos_token) + len(self._tokenizer.eos_token)
        tools = [{"role": "tool", "content": result} for result in results]
        whole = self._render([*turn, *tools], opens_turn=True)
        if end < len(self._tokenizer.eos_token) or not whole.startswith(before[:end]):
            raise TrainingError(
                f"The chat template does not end a turn in {self._tokenizer.eos_token!r}, or rewrites "
                "earlier turns: its rollouts could not be kept token by token."
            )
        return whole[end:]

    def _render(self, messages: Sequence[dict[str, str]], *, opens_turn: bool) -> str:
        return str(
            self._tokenizer.apply_chat_template(
                list(messages), tokenize=False, add_generation_prompt=opens_turn
            )
        )
