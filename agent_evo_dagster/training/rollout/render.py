"""Chat turns as token ids, by the tokenizer's own template. What was sampled is never encoded again."""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.rollout.types import Schema

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase
else:
    PreTrainedTokenizerBase = Any

_TURN = "ASSISTANT-TURN"  # stands for what was sampled, whose ids are known
_DAY = "26 Jul 2024"  # told to templates that would ask the clock


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
        self.chat_template: str = tokenizer.chat_template
        self.end_of_turn: int = tokenizer.eos_token_id
        self.pad: int = self.end_of_turn if tokenizer.pad_token_id is None else tokenizer.pad_token_id
        self._told: dict[str, object] = {"date_string": _DAY} if "date_string" in self.chat_template else {}
        self._control = _any_of(tokenizer.all_special_tokens)
        self._tags = _any_of([*tokenizer.all_special_tokens, *tokenizer.get_added_vocab()])

    def prompt(self, messages: Sequence[dict[str, str]], tools: Sequence[Schema] = ()) -> tuple[int, ...]:
        """Ids of `messages` and of the opening of the assistant's turn; `tools` are listed by the template.

        Control tokens in what users and tools say are broken up: a task cannot end its own turn.
        """
        foreign = {"user": self._control, "tool": self._tags}
        safe = [
            {**message, "content": _broken_up(message["content"], foreign[message["role"]])}
            if message["role"] in foreign
            else message
            for message in messages
        ]
        return self.encode(self._render(safe, opens_turn=True, tools=tools))

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
        question = [{"role": "user", "content": "a"}]
        tools = [{"role": "tool", "content": _broken_up(result, self._tags)} for result in results]
        turn = {"role": "assistant", "content": _TURN}
        before = self._render(question, opens_turn=True) + _TURN + self._tokenizer.eos_token
        whole = self._render([*question, turn, *tools], opens_turn=True)
        if not whole.startswith(before):
            raise TrainingError(
                f"The chat template does not end a turn in {self._tokenizer.eos_token!r}, or rewrites "
                "earlier turns: its rollouts could not be kept token by token."
            )
        return whole[len(before) :]

    def _render(
        self, messages: Sequence[dict[str, str]], *, opens_turn: bool, tools: Sequence[Schema] = ()
    ) -> str:
        return str(
            self._tokenizer.apply_chat_template(
                list(messages),
                tools=[dict(tool) for tool in tools] or None,
                tokenize=False,
                add_generation_prompt=opens_turn,
                **self._told,
            )
        )


def _any_of(tokens: Iterable[str]) -> re.Pattern[str]:
    longest_first = sorted({token for token in tokens if len(token) > 1}, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")


def _broken_up(text: str, tokens: re.Pattern[str]) -> str:
    """`text` with a space in every control token that it spells out."""
    if not tokens.search(text):
        return text
    return tokens.sub(lambda token: f"{token.group()[0]} {token.group()[1:]}", text)
