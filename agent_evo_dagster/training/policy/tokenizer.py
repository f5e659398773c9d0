"""The embedded policy's tokenizer: byte-level BPE with single digits, ChatML, atomic tool tags."""

import json
from collections.abc import Iterable
from typing import Any

PAD = "<|endoftext|>"
START = "<|im_start|>"
END = "<|im_end|>"
TOOL_TAGS = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>")

# Tools are not listed in the prompt: they are always the same, and a short prompt is a fast one.
CHAT_TEMPLATE = """
{%- for message in messages %}
{%- if message.role == 'tool' %}
{%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}{{- '<|im_start|>tool\\n' }}{%- endif %}
{{- '<tool_response>' + message.content + '</tool_response>' }}
{%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{- '<|im_end|>\\n' }}{%- endif %}
{%- else %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}
"""


def train_tokenizer(corpus: Iterable[str], vocabulary: int) -> Any:
    """A Qwen2 tokenizer with `vocabulary` entries before the tool tags, its merges learnt from `corpus`."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import Qwen2Tokenizer

    pipeline = Qwen2Tokenizer().backend_tokenizer
    backend = Tokenizer(models.BPE())
    backend.normalizer, backend.pre_tokenizer = pipeline.normalizer, pipeline.pre_tokenizer
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[PAD, START, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(corpus, trainer)
    learnt = json.loads(backend.to_str())["model"]
    tokenizer = Qwen2Tokenizer(
        vocab=learnt["vocab"],
        merges=[tuple(merge) for merge in learnt["merges"]],
        unk_token=PAD,
        pad_token=PAD,
        eos_token=END,
        additional_special_tokens=[START],
    )
    tokenizer.add_tokens(list(TOOL_TAGS))  # atomic, but not special: they survive decoding
    tokenizer.chat_template = CHAT_TEMPLATE.strip()
    tokenizer.padding_side = "left"
    return tokenizer
