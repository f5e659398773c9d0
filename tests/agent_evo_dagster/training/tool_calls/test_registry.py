import pytest

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.tool_calls.registry import format_of, named_format


def test_the_embedded_policys_own_template_tells_its_format(policy):
    assert format_of(policy.tokenizer.chat_template) == "hermes"


def test_a_template_that_tells_nothing_is_an_error_that_names_the_choices():
    with pytest.raises(TrainingError, match="tool_format to one of hermes, qwen_xml, llama_json, openai"):
        format_of("{{ messages[0].content }}")


def test_each_name_is_a_format_of_its_own():
    names = ("hermes", "qwen_xml", "llama_json", "openai")
    assert len({type(named_format(name)) for name in names}) == 4
