import pytest

from agent_evo_dagster.training.rollout.decoder import MOST_TOKENS, Decoder

pytestmark = pytest.mark.usefixtures("torch")

SMALL = {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2, "initializer_range": 0.3}
HEADS = {"num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 64}
PROMPTS = [[5, 6, 7, 8, 9, 10, 11], [12, 13, 14], [15, 16, 17, 18, 19]]
LATER = [[20, 21, 22], [23, 24, 25], [26, 27, 28], [29, 30, 31], [32, 33, 34]]


def model(family):
    import torch
    import transformers

    torch.manual_seed(0)
    configs = {
        "llama": lambda: transformers.LlamaConfig(**SMALL, **HEADS),
        "gpt2": lambda: transformers.GPT2Config(vocab_size=64, n_embd=32, n_layer=2, n_head=2),
        "window": lambda: transformers.MistralConfig(**SMALL, **HEADS, sliding_window=4),
        "window beside whole": lambda: transformers.Gemma3TextConfig(
            **SMALL,
            **HEADS,
            head_dim=16,
            sliding_window=4,
            layer_types=["sliding_attention", "full_attention"],
        ),
        "recurrent": lambda: transformers.Lfm2Config(
            **SMALL, **HEADS, layer_types=["conv", "full_attention"], block_auto_adjust_ff_dim=False
        ),
    }
    return transformers.AutoModelForCausalLM.from_config(configs[family]()).eval()


@pytest.mark.parametrize("family", ["llama", "gpt2", "window", "window beside whole"])
def test_several_tokens_in_one_step_are_worth_as_many_steps(torch, family):
    of_one, of_many = (Decoder(model(family), PROMPTS, 0) for _ in range(2))
    assert of_many.most == MOST_TOKENS
    with torch.inference_mode():
        for decoder in (of_one, of_many):
            decoder.prefill()
            decoder.step([1, 2, 3])
        expected = [of_one.step(tokens) for tokens in LATER][-1]
        assert torch.allclose(of_many.step(*LATER), expected, atol=1e-4)
        for decoder in (of_one, of_many):
            decoder.keep([0, 2])
        assert torch.allclose(of_many.step([40, 41]), of_one.step([40, 41]), atol=1e-4)


def test_a_model_that_remembers_otherwise_than_by_attention_takes_one_token_at_a_time():
    assert Decoder(model("recurrent"), PROMPTS, 0).most == 1
