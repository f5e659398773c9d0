from types import SimpleNamespace

import pytest

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.rollout.render import ChatRenderer

USER = {"role": "user", "content": "What is 1 plus 2?"}


def render(policy, messages, **options):
    return policy.tokenizer.apply_chat_template(messages, tokenize=False, **options)


def test_a_prompt_is_the_templates_own(policy, renderer):
    text = render(policy, [USER], add_generation_prompt=True)
    assert renderer.text(renderer.prompt([USER])) == text
    assert text.endswith("<|im_start|>assistant\n")


@pytest.mark.parametrize("results", [("3",), ("3", "Error: no such tool")])
def test_a_conversation_built_at_its_end_is_the_templates_own(policy, renderer, results):
    turn = "<tool_call>x</tool_call>"
    built = (
        *renderer.prompt([USER]),
        *renderer.encode(turn),
        renderer.end_of_turn,
        *renderer.after_turn(results),
    )
    messages = [USER, {"role": "assistant", "content": turn}]
    messages += [{"role": "tool", "content": result} for result in results]
    whole = render(policy, messages, add_generation_prompt=True)
    assert renderer.text(built) == whole
    assert renderer.encode(whole) == built


def test_consecutive_results_are_one_block(renderer):
    text = renderer.text(renderer.after_turn(("1", "2")))
    assert text.count("<|im_start|>tool") == 1
    assert text.count("<tool_response>") == 2


def test_tool_tags_are_single_tokens_and_digits_are_single(renderer):
    assert len(renderer.encode("<tool_call></tool_call>")) == 2
    assert len(renderer.encode("1234")) == 4


def test_a_tokenizer_without_template_is_refused():
    with pytest.raises(TrainingError, match="no chat template"):
        ChatRenderer(SimpleNamespace(chat_template=None, eos_token="x"))


def test_a_template_that_rewrites_earlier_turns_is_refused(policy):
    import copy

    tokenizer = copy.deepcopy(policy.tokenizer)
    tokenizer.chat_template = "{{ messages | length }}" + tokenizer.chat_template
    with pytest.raises(TrainingError, match="rewrites"):
        ChatRenderer(tokenizer).after_turn(("1",))
