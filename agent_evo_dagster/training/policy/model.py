"""The embedded policy's network: a tiny Qwen2. Only its shape and its first, random weights."""

from typing import Any

HIDDEN = 128
LAYERS = 2
CONTEXT = 512


def new_model(tokenizer: Any, seed: int) -> Any:
    """A Qwen2 causal language model for `tokenizer` with random weights drawn from `seed`."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(seed)
    config = Qwen2Config(
        vocab_size=-(-len(tokenizer) // 64) * 64,
        hidden_size=HIDDEN,
        intermediate_size=2 * HIDDEN,
        num_hidden_layers=LAYERS,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        initializer_range=0.05,
    )
    return Qwen2ForCausalLM(config)
