"""A policy behind a vLLM server, as an engine of rollouts: which folder is served, and rollouts from it."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from agent_evo_dagster.errors import InferenceError
from agent_evo_dagster.files import sha256_tree
from agent_evo_dagster.training.backends.vllm_client import VllmClient
from agent_evo_dagster.training.backends.vllm_protocol import ModelCard
from agent_evo_dagster.training.backends.vllm_rollout import roll_out_turns
from agent_evo_dagster.training.backends.vllm_server import SERVED, open_client, running_server
from agent_evo_dagster.training.backends.vllm_settings import VllmSettings
from agent_evo_dagster.training.environments.types import Episode
from agent_evo_dagster.training.policy.checkpoints import load_tokenizer, save_checkpoint
from agent_evo_dagster.training.rollout.render import ChatRenderer
from agent_evo_dagster.training.rollout.turns import Turn, TurnRequest
from agent_evo_dagster.training.rollout.types import Limits, Sampling, Tick, Trajectory

SYNC_FOLDER = ".vllm-policy"


class VllmEngine:
    """Rollouts on one server, which serves the weights of one folder at a time."""

    def __init__(
        self, client: VllmClient, settings: VllmSettings, card: ModelCard, folder: Path, scratch: Path
    ) -> None:
        self._client = client
        self._settings = settings
        self._name = card.id
        self._scratch = scratch
        self._tokenizer = load_tokenizer(folder)
        self.renderer = ChatRenderer(self._tokenizer)

    def load(self, folder: Path) -> None:
        """Serve the weights of `folder`, a policy of the same architecture and tokenizer.

        Raises:
            InferenceError: the server may not be told so, or cannot.
        """
        if self._settings.url is not None and not self._settings.reload:
            raise InferenceError(
                f"{self._settings.url} serves one policy, and the job needs {folder} as well. Set "
                "vllm.reload if the server sees that folder, or let the job start a server of its own."
            )
        self._client.load_weights(folder.absolute())

    def update(self, model: Any) -> None:
        """Write the weights of `model` beside the run and have the server load them."""
        folder = self._scratch / SYNC_FOLDER
        save_checkpoint(model, self._tokenizer, folder)
        self.load(folder)

    def attempt(
        self, episodes: Sequence[Episode], limits: Limits, sampling: Sampling, *, tick: Tick
    ) -> list[Trajectory]:
        """Turn by turn on the server, many episodes at a time."""
        return roll_out_turns(
            self._sample, self.renderer, episodes, limits, sampling,
            concurrency=self._settings.concurrency, tick=tick,
        )  # fmt: skip

    def _sample(self, request: TurnRequest, temperature: float, seed: int) -> Turn:
        return self._client.sample(
            self._name, request, temperature=temperature, seed=seed, stop=self.renderer.end_of_turn
        )

    def verify(self) -> None:
        """Refuse a server whose log-probabilities are not those of its samples."""
        prompt = self.renderer.prompt([{"role": "user", "content": "1"}])
        self._client.require_processed(self._name, prompt, self.renderer.end_of_turn)


@contextmanager
def vllm_engine(
    settings: VllmSettings, folder: Path, run_dir: Path, *, seed: int, tick: Tick
) -> Iterator[VllmEngine]:
    """An engine for the policy in `folder`: a server of its own, or the one at `settings.url`.

    Raises:
        InferenceError: there is no such server, or it does not serve what is asked for.
    """
    folder = folder.absolute()
    try:
        with _opened(settings, folder, run_dir, seed=seed, tick=tick) as engine:
            engine.verify()
            yield engine
    finally:
        shutil.rmtree(run_dir / SYNC_FOLDER, ignore_errors=True)


@contextmanager
def _opened(
    settings: VllmSettings, folder: Path, run_dir: Path, *, seed: int, tick: Tick
) -> Iterator[VllmEngine]:
    if settings.url is None:
        with running_server(settings, folder, run_dir, seed=seed, tick=tick) as client:
            yield VllmEngine(client, settings, ModelCard(id=SERVED), folder, run_dir)
    else:
        with closing(open_client(settings, settings.url)) as client:
            card = _served(client, settings, folder)
            engine = VllmEngine(client, settings, card, folder, run_dir)
            if settings.reload:
                engine.load(folder)
            yield engine


def _served(client: VllmClient, settings: VllmSettings, folder: Path) -> ModelCard:
    """The one model of a server, which must be the policy in `folder` where it cannot be told to load it."""
    cards = client.models()
    if len(cards) != 1:
        raise InferenceError(f"{client.url} offers {len(cards)} models; one was expected.")
    if not settings.reload and not _same(cards[0].root, folder):
        raise InferenceError(
            f"{client.url} serves {cards[0].root!r}; the job needs {folder}. Serve that folder, or one with "
            "the same files, or set vllm.reload."
        )
    return cards[0]


def _same(root: str | None, folder: Path) -> bool:
    if root is None:
        return False
    path = Path(root)
    return path.is_dir() and (path.samefile(folder) or sha256_tree(path) == sha256_tree(folder))
