"""How a server is started and ended. The server is a small script, given as vLLM's Python."""

import os
import sys
import textwrap
import time
from pathlib import Path

import pytest
from pydantic import ValidationError

from agent_evo_dagster.errors import InferenceError
from agent_evo_dagster.training.backends.vllm_server import running_server, serve_command, serve_environment
from agent_evo_dagster.training.backends.vllm_settings import VllmSettings

HEALTHY = """\
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
port = int(sys.argv[sys.argv.index("--port") + 1])
print(os.getpid(), file=open("pid", "w"), flush=True)
HTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""


@pytest.fixture
def python(tmp_path):
    def write(body: str) -> Path:
        script = tmp_path / "python"
        script.write_text(f"#!{sys.executable} -S\nimport os, sys, time\n{textwrap.dedent(body)}")
        script.chmod(0o755)
        return script

    return write


def start(python, tmp_path, **changes):
    settings = VllmSettings(python=python, **{"start_timeout": 10.0, **changes})
    return running_server(settings, Path("/policies/base"), tmp_path, seed=3, tick=lambda: None)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def ends(pid):
    """Whether the process ends: what was killed is gone a moment later."""
    deadline = time.monotonic() + 10
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not alive(pid)


def test_the_server_answers_inside_the_block_and_is_gone_after_it(python, tmp_path):
    with start(python(HEALTHY), tmp_path) as client:
        assert client.healthy()
        pid = int((tmp_path / "pid").read_text())
    assert ends(pid)


def test_a_server_that_ends_early_is_told_with_the_end_of_its_log(python, tmp_path):
    script = python("print('CUDA out of memory', file=sys.stderr); sys.exit(4)")
    with pytest.raises(InferenceError, match=r"(?s)ended before it answered \(exit code 4\).*out of memory"):
        start(script, tmp_path).__enter__()


def test_a_server_that_never_answers_is_ended(python, tmp_path):
    script = python("print(os.getpid(), file=open('pid', 'w'), flush=True); time.sleep(60)")
    with pytest.raises(InferenceError, match=r"did not answer within 1\.5 s \(vllm\.start_timeout\)"):
        start(script, tmp_path, start_timeout=1.5).__enter__()
    assert ends(int((tmp_path / "pid").read_text()))


def test_a_python_that_is_not_there_is_told_with_the_setting_that_names_it(tmp_path):
    with pytest.raises(InferenceError, match=r"(?s)vllm\.python.*nowhere cannot be started"):
        start(tmp_path / "nowhere", tmp_path).__enter__()


def test_a_loading_server_is_a_sign_of_life_only_while_it_says_something(python, tmp_path):
    ticks = []
    script = python("print('loading', flush=True); time.sleep(1.6); sys.exit(1)")
    settings = VllmSettings(python=script, start_timeout=10.0)
    with pytest.raises(InferenceError):
        running_server(settings, Path("/p"), tmp_path, seed=0, tick=lambda: ticks.append(1)).__enter__()
    assert 1 <= len(ticks) <= 2


def test_the_command_asks_for_log_probabilities_of_what_was_sampled_on_loopback_alone():
    settings = VllmSettings(python=Path("/v/python"), max_model_len=512, enforce_eager=True, dtype="float32")
    command = serve_command(settings, Path("/policies/base"), 8123, 3)
    text = " ".join(command)
    assert command[0] == "/v/python"
    for wanted in (
        "serve /policies/base", "--host 127.0.0.1 --port 8123", "--logprobs-mode processed_logprobs",
        "--generation-config vllm", "--max-model-len 512", "--enforce-eager", "--dtype float32", "--seed 3",
    ):  # fmt: skip
        assert wanted in text


def test_the_server_is_silent_offline_and_has_the_variables_of_the_deployment(monkeypatch):
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    found = serve_environment(VllmSettings(env={"VLLM_CPU_KVCACHE_SPACE": "1"}))
    assert found["VLLM_NO_USAGE_STATS"] == found["HF_HUB_OFFLINE"] == found["VLLM_CPU_KVCACHE_SPACE"] == "1"
    assert found["PATH"] == os.environ["PATH"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"url": "localhost:8000"}, "begins with http"),
        ({"url": "file:///etc/passwd"}, "begins with http"),
        ({"reload": True}, "reload is for a server at `url`"),
        ({"arguments": ["--logprobs-mode=raw_logprobs"]}, "--logprobs-mode cannot be given"),
        ({"arguments": ["--host", "0.0.0.0"]}, "--host cannot be given"),
        ({"env": {"HF_TOKEN": "x"}}, "HF_TOKEN looks like a secret"),
        ({"concurrency": 0}, "greater than or equal to 1"),
        ({"speed": 3}, "Extra inputs"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings, said):
    with pytest.raises(ValidationError, match=said):
        VllmSettings.model_validate(settings)


def test_an_address_may_be_given_with_the_protocols_prefix():
    assert VllmSettings(url="http://gpu-7:8000/v1/").url == "http://gpu-7:8000"
