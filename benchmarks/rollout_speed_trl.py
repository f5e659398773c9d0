"""TRL's own tool loop on the same tasks: GRPOTrainer with its tools, and what it needs to read calls.

TRL has no tool that ends a rollout: a call of `finish` is therefore plain text to it, which ends it too.
"""

import copy
import tempfile
import time
import warnings
from collections.abc import Sequence
from typing import Any

from agent_evo_dagster.training.environments.arithmetic import LIMITS
from agent_evo_dagster.training.environments.math_calc import calculator_tool
from agent_evo_dagster.training.environments.tools import ToolRefusedError
from agent_evo_dagster.training.policy.checkpoints import Policy

# The policy's template, with the calls of a turn written out: TRL refuses tools where they are not.
_CONTENT = "+ message.content +"
_CONTENT_AND_CALLS = (
    "+ message.content }}{% for call in message.tool_calls or [] %}<tool_call>{{ call.function | tojson }}"
    "</tool_call>{% endfor %}{{-"
)
_RESPONSE_TEMPLATE = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<|im_start|>assistant\n",
    "fields": {
        "tool_calls": {
            "open_pattern": r'<tool_call>(?=\s*\{\s*"name"\s*:\s*"calculate")',
            "close_pattern": r"</tool_call>\s*",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
        "content": {"close_pattern": r"<\|im_end\|>\s*", "content": "text"},
    },
}


class TrlLoop:
    """TRL's trainer, whose rollouts are timed from messages to token ids. It trains nothing."""

    def __init__(
        self, policy: Policy, conversations: Sequence[list[dict[str, str]]], **sampling: Any
    ) -> None:
        from datasets import Dataset
        from trl import GRPOConfig, GRPOTrainer

        self._inputs = [{"prompt": messages} for messages in conversations]
        self.seconds = 0.0
        self.tool_masks: list[list[int]] = []
        self.completions: list[list[int]] = []
        outer = self

        class Timed(GRPOTrainer):  # type: ignore[misc]  # trl is not typed
            def _generate(self, prompts: list[Any]) -> Any:
                began = time.process_time()
                made = super()._generate(prompts)
                outer.seconds = time.process_time() - began
                outer.completions, outer.tool_masks = made[1], made[2]
                return made

        with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*gradient_checkpointing.*", FutureWarning)
            self._trainer = Timed(
                model=copy.deepcopy(policy.model),  # it changes the model's mode
                processing_class=_tokenizer(policy.tokenizer),
                reward_funcs=[_no_reward],
                train_dataset=Dataset.from_list(self._inputs),
                args=GRPOConfig(
                    output_dir=scratch,
                    per_device_train_batch_size=len(conversations),
                    num_generations=2,
                    max_completion_length=LIMITS.max_completion_length,
                    max_tool_calling_iterations=LIMITS.max_turns - 1,
                    generation_kwargs={"max_new_tokens": LIMITS.max_new_tokens, "top_k": 0, **sampling},
                    use_cpu=True,
                    bf16=False,
                    activation_checkpointing=False,
                    report_to=[],
                    disable_tqdm=True,
                ),
                tools=[calculate],
            )

    def run(self) -> None:
        """One batch of rollouts; its CPU seconds, completions and masks are then to be had."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*gradient_checkpointing.*", FutureWarning)
            self._trainer._generate_and_score_completions(copy.deepcopy(self._inputs))

    @property
    def sampled(self) -> int:
        """Tokens of the policy's own."""
        return sum(map(sum, self.tool_masks))


def calculate(expression: str) -> str:
    """Evaluate one arithmetic expression.

    Args:
        expression: what to evaluate.
    """
    try:
        return calculator_tool().run(expression=expression)
    except ToolRefusedError as error:
        return f"Error: {error}"


def _no_reward(completions: list[Any], **_: Any) -> list[float]:
    return [0.0] * len(completions)


def _tokenizer(tokenizer: Any) -> Any:
    """A copy that TRL accepts: it can write calls, and says how they are read."""
    accepted = copy.deepcopy(tokenizer)
    accepted.chat_template = tokenizer.chat_template.replace(_CONTENT, _CONTENT_AND_CALLS)
    accepted.response_template = _RESPONSE_TEMPLATE
    return accepted
