"""A vLLM server as a managed child: started, awaited, watched, and gone when its block ends."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from agent_evo_dagster.errors import InferenceError
from agent_evo_dagster.training.backends.vllm_client import Patience, VllmClient
from agent_evo_dagster.training.backends.vllm_settings import VllmSettings
from agent_evo_dagster.training.guard import guarded
from agent_evo_dagster.training.logs import tail_of
from agent_evo_dagster.training.process_group import describe_exit, process_group
from agent_evo_dagster.training.telemetry import OFFLINE_BY_DEFAULT, TELEMETRY_OFF

LOG_FILE = "vllm.log"
SERVED = "policy"  # the name that requests use, whatever folder is behind it
LOOPBACK = "127.0.0.1"
POLL_SECONDS = 0.5


def serve_command(settings: VllmSettings, model: Path, port: int, seed: int) -> list[str]:
    """`vllm serve` for `model`: ids and log-probabilities as they are sampled, no defaults of the model's."""
    command = [
        str(settings.python or sys.executable), "-m", "vllm.entrypoints.cli.main", "serve", str(model),
        "--served-model-name", SERVED,
        "--host", LOOPBACK,
        "--port", str(port),
        "--dtype", settings.dtype,
        "--seed", str(seed),
        "--tensor-parallel-size", str(settings.tensor_parallel),
        "--gpu-memory-utilization", str(settings.memory_utilization),
        "--max-num-seqs", str(settings.max_num_seqs),
        "--logprobs-mode", "processed_logprobs",
        "--generation-config", "vllm",
    ]  # fmt: skip
    if settings.max_model_len is not None:
        command += ["--max-model-len", str(settings.max_model_len)]
    if settings.enforce_eager:
        command.append("--enforce-eager")
    return [*command, *settings.arguments]


def serve_environment(settings: VllmSettings) -> dict[str, str]:
    """This process's variables, silent and offline, with the interface that reloads weights."""
    return {
        **OFFLINE_BY_DEFAULT,
        **os.environ,
        **TELEMETRY_OFF,
        "VLLM_SERVER_DEV_MODE": "1",  # it listens on loopback alone
        "PYTHONUNBUFFERED": "1",
        **settings.env,
    }


@contextmanager
def running_server(
    settings: VllmSettings, model: Path, run_dir: Path, *, seed: int, tick: Callable[[], None]
) -> Iterator[VllmClient]:
    """Serve `model` inside the block; its log is `run_dir`/vllm.log. `tick` is called while it loads.

    Raises:
        InferenceError: the server cannot be started, ends early, or does not answer in time.
    """
    port = _free_port()
    log = run_dir / LOG_FILE
    command = guarded(serve_command(settings, model, port, seed))
    client = open_client(settings, f"http://{LOOPBACK}:{port}")
    with (
        closing(client),
        process_group(command, env=serve_environment(settings), cwd=run_dir, log=log) as process,
    ):
        _await(process, client, settings.start_timeout, log, tick)
        yield client


def open_client(settings: VllmSettings, url: str) -> VllmClient:
    """A client for `url` with the patience of the settings.

    Raises:
        InferenceError: the variable that should hold the key is not set.
    """
    key = None
    if settings.api_key_env:
        key = os.environ.get(settings.api_key_env)
        if not key:
            raise InferenceError(
                f"vllm.api_key_env names {settings.api_key_env}, which is not set. Set it to the key."
            )
    patience = Patience(settings.request_timeout, settings.retries)
    return VllmClient(url, patience=patience, connections=settings.concurrency, api_key=key)


def _await(
    process: "subprocess.Popen[bytes]",
    client: VllmClient,
    timeout: float,
    log: Path,
    tick: Callable[[], None],
) -> None:
    began, written = time.monotonic(), -1
    while not client.healthy():
        code = process.poll()
        if code is not None:
            raise InferenceError(
                f"The vLLM server ended before it answered ({describe_exit(code)}). vllm.python names its "
                f"Python. Log: {log}; its last lines:\n{tail_of(log)}"
            )
        if time.monotonic() - began > timeout:
            raise InferenceError(
                f"The vLLM server did not answer within {timeout:g} s (vllm.start_timeout). Log: {log}; its "
                f"last lines:\n{tail_of(log)}"
            )
        if (size := log.stat().st_size) != written:  # it says something: it is at work
            written = size
            tick()
        time.sleep(POLL_SECONDS)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])
