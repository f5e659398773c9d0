"""The policies that a first round can start from, by the name that a configuration gives them."""

import subprocess
import sys
from pathlib import Path

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.policy.checkpoints import require_checkpoint
from agent_evo_dagster.training.process_environment import training_environment

EMBEDDED_MODEL = "embedded"
UNPACKED = {"smollm2": "agent_evo_dagster.training.policy.smollm2"}  # made once, by running these modules
UNPACK_SECONDS = 1800.0


def base_policy(model: str, models: Path, *, python: Path | None) -> Path | None:
    """Folder of the policy that `model` names; null is the embedded one.

    Args:
        model: `embedded`, `smollm2`, or a folder in the Hugging Face layout.
        models: where unpacked policies are kept.
        python: interpreter of the trainer, which unpacks; none: this one.

    Raises:
        TrainingError: there is no such policy, or it cannot be unpacked.
    """
    if model == EMBEDDED_MODEL:
        return None
    if model not in UNPACKED:
        folder = Path(model).expanduser()
        if not folder.is_dir():
            known = ", ".join((EMBEDDED_MODEL, *UNPACKED))
            raise TrainingError(
                f"model={model!r} is neither {known} nor a folder. Name the folder of a policy in the "
                "Hugging Face layout; nothing is downloaded."
            )
        return require_checkpoint(folder).absolute()
    folder = models / model
    if not folder.is_dir():
        _unpack(UNPACKED[model], folder, python)
    return require_checkpoint(folder)


def _unpack(module: str, folder: Path, python: Path | None) -> None:
    command = [str(python or sys.executable), "-P", "-m", module, str(folder)]
    done = subprocess.run(
        command,
        env=training_environment(threads=1),
        capture_output=True,
        text=True,
        check=False,
        timeout=UNPACK_SECONDS,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines()[-5:]
        raise TrainingError("The policy cannot be unpacked:\n" + "\n".join(lines))
