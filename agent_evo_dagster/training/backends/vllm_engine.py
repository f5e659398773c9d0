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
from agent_evo_dagster.training.backends.vllm_weights import PROBE_TOKENS, require_same, untie
from agent_evo_dagster.training.environments.types import Episode
from agent_evo_dagster.training.policy.checkpoints import load_tokenizer, save_checkpoint
from agent_evo_dagster.training.rollout.render import ChatRenderer
from agent_evo_dagster.training.rollout.turns import Turn, TurnRequest
from agent_evo_dagster.training.rollout.types import Limits, Sampling, Tick, Trajectory

SYNC_FOLDER = ".vllm-policy"


class VllmEngine:
    """Rollouts on one server, which serves one policy until it is updated."""

    def __init__(
        self, client: VllmClient, settings: VllmSettings, card: ModelCard, folder: Path, scratch: Path
    ) -> None:
        self._client = client
        self._settings = settings
        self._name = card.id
        self._scratch = scratch
        self._tokenizer = load_tokenizer(folder)
        self.renderer = ChatRenderer(self._tokenizer)

    def update(self, model: Any) -> None:
        """Have the server load the weights of `model`, and make sure that it answers with them.

        Raises:
            InferenceError: the server may not be told so, cannot, or has other weights afterwards.
        """
        managed = self._settings.url is None
        if not managed and not self._settings.reload:
            raise InferenceError(
                f"{self._settings.url} may not be told to load other weights, and this job changes them. Set "
                "vllm.reload if it sees this run's folder, or let the job start a server of its own."
            )
        folder = self._scratch / SYNC_FOLDER
        save_checkpoint(model, self._tokenizer, folder)
        if managed:
            untie(folder)
        self._client.load_weights(folder.absolute())
        self._require_weights(model)

    def _require_weights(self, model: Any) -> None:
        request = TurnRequest(self._probe(), PROBE_TOKENS, 0)
        sampled = self._sample(request, 1.0, 0)
        require_same(model, request.context, sampled, self._settings.dtype, self._client.url)

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
        self._client.require_processed(self._name, self._probe(), self.renderer.end_of_turn)

    def _probe(self) -> tuple[int, ...]:
        return self.renderer.prompt([{"role": "user", "content": "1"}])


@contextmanager
def vllm_engine(
    settings: VllmSettings, folder: Path, run_dir: Path, *, seed: int, tick: Tick, updated: bool = False
) -> Iterator[VllmEngine]:
    """An engine for the policy in `folder`: a server of its own, or the one at `settings.url`.

    Args:
        settings: The server.
        folder: The policy.
        run_dir: Where the server's log lies, and the weights on their way to it.
        seed: Of the server; each turn has one of its own.
        tick: Called while a server loads.
        updated: The weights will be changed by `update`.

    Raises:
        InferenceError: there is no such server, or it does not serve what is asked for.
    """
    folder, sync = folder.absolute(), run_dir / SYNC_FOLDER
    try:
        if updated and settings.url is None:  # reloads go into what was started: it must be untied as well
            shutil.copytree(folder, sync, dirs_exist_ok=True)
            untie(sync)
            folder = sync.absolute()
        with _opened(settings, folder, run_dir, seed=seed, tick=tick, updated=updated) as engine:
            engine.verify()
            yield engine
    finally:
        shutil.rmtree(sync, ignore_errors=True)


@contextmanager
def _opened(
    settings: VllmSettings, folder: Path, run_dir: Path, *, seed: int, tick: Tick, updated: bool
) -> Iterator[VllmEngine]:
    if settings.url is None:
        with running_server(settings, folder, run_dir, seed=seed, tick=tick) as client:
            yield VllmEngine(client, settings, ModelCard(id=SERVED), folder, run_dir)
    else:
        with closing(open_client(settings, settings.url)) as client:
            card = _served(client, folder, any_weights=updated and settings.reload)
            yield VllmEngine(client, settings, card, folder, run_dir)


def _served(client: VllmClient, folder: Path, *, any_weights: bool) -> ModelCard:
    """The one model of a server: the policy in `folder`, unless its weights are about to be replaced."""
    cards = client.models()
    if len(cards) != 1:
        raise InferenceError(f"{client.url} offers {len(cards)} models; one was expected.")
    if not any_weights and not _same(cards[0].root, folder):
        raise InferenceError(
            f"{client.url} serves {cards[0].root!r}; the job needs {folder}. Serve that folder, or one with "
            "the same files, or let the job start a server of its own."
        )
    return cards[0]


def _same(root: str | None, folder: Path) -> bool:
    if root is None:
        return False
    path = Path(root)
    return path.is_dir() and (path.samefile(folder) or sha256_tree(path) == sha256_tree(folder))
