"""The formats by name, and which of them a model was taught, told by its own chat template. No parsing."""

from typing import Literal, get_args

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.tool_calls.hermes import HermesFormat
from agent_evo_dagster.training.tool_calls.llama_json import LlamaJsonFormat
from agent_evo_dagster.training.tool_calls.openai_json import OpenAiFormat
from agent_evo_dagster.training.tool_calls.qwen_xml import QwenXmlFormat
from agent_evo_dagster.training.tool_calls.types import ToolCallFormat

FormatName = Literal["hermes", "qwen_xml", "llama_json", "openai"]

# What a chat template shows of a format, most telling first: templates of one family quote another's tags.
_SIGNS: tuple[tuple[FormatName, tuple[str, ...]], ...] = (
    ("qwen_xml", ("<function=", "<parameter=")),
    ("hermes", ("<tool_call>",)),
    ("hermes", ("<tool_response>",)),
    ("llama_json", ("<|start_header_id|>", '"parameters"')),
)


def named_format(name: FormatName) -> ToolCallFormat:
    """A new reader and writer of this format."""
    if name == "qwen_xml":
        return QwenXmlFormat()
    if name == "llama_json":
        return LlamaJsonFormat()
    if name == "openai":
        return OpenAiFormat()
    return HermesFormat()


def format_of(chat_template: str) -> FormatName:
    """The format that a model with this chat template was taught.

    Raises:
        TrainingError: the template does not tell.
    """
    for name, signs in _SIGNS:
        if all(sign in chat_template for sign in signs):
            return name
    raise TrainingError(
        "tool_format=auto asks the policy's chat template for its format of tool calls, and the template "
        f"shows none. Set tool_format to one of {', '.join(get_args(FormatName))}."
    )
