"""Scoring on fresh tasks: which policies, which tasks, and only once."""

import contextlib

from benchmarks import closed_loop_fresh
from benchmarks.closed_loop_fresh import fresh_folder, score
from benchmarks.closed_loop_homes import Home


def test_the_policies_after_the_first_and_the_last_round_are_scored_once(tmp_path, monkeypatch):
    asked = []

    def worker(request, *, env, **limits):
        asked.append((request, env))
        (request.run_dir / "evaluation.parquet").touch()

    monkeypatch.setattr(closed_loop_fresh, "run_worker", worker)
    home = Home(tmp_path, "gated", 3)
    home.path.mkdir()
    for _ in range(2):
        score(home, 4)
    ((request, env),) = asked
    first, last = (home.path / "runs" / f"round-000{n}" / "train" / "checkpoint" for n in (1, 4))
    assert (request.init_checkpoint, request.checkpoint) == (first, last)
    assert request.evaluation.split == "report"
    assert env["AGENT_EVO_HOME"] == str(home.path)
    assert (fresh_folder(home.path) / "evaluation.parquet").is_file()


def test_seeds_have_tasks_of_their_own_and_arms_share_them(tmp_path, monkeypatch):
    seeds = []
    monkeypatch.setattr(closed_loop_fresh, "staged_run", lambda target: contextlib.nullcontext(tmp_path))
    monkeypatch.setattr(
        closed_loop_fresh, "run_worker", lambda request, **rest: seeds.append(request.evaluation.seed)
    )
    for arm, seed in (("gated", 0), ("gated", 1), ("zero", 1)):
        score(Home(tmp_path, arm, seed), 3)
    assert seeds[0] != seeds[1] == seeds[2]
