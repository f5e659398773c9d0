"""verl's trainer as far as files are concerned: `python stub_verl.py OVERRIDES...` leaves the same."""

import json
import os
import sys
import time
from pathlib import Path

import polars as pl

from agent_evo_dagster.training.backends.verl_rows import Row, append_row


def unquoted(text: str) -> str:
    return text.strip("'[]")


said = {name: value for name, _, value in (word.partition("=") for word in sys.argv[1:])}
mode = os.environ.get("STUB_VERL", "good")
root = Path(unquoted(said["trainer.rollout_data_dir"])).parent
group, steps = int(said["actor_rollout_ref.rollout.n"]), int(said["trainer.total_training_steps"])
batch = int(said["data.train_batch_size"])
tasks = pl.read_parquet(unquoted(said["data.train_files"]).strip("'"))
assert Path(unquoted(said["actor_rollout_ref.rollout.agent.agent_loop_config_path"])).is_file()
assert tasks.height == steps * batch
print("Training Progress", flush=True)
if mode == "fails":
    print("ValueError: Total available GPUs 0 is less than total desired GPUs 1", flush=True)
    sys.exit(1)

metrics = Path(os.environ["VERL_FILE_LOGGER_PATH"])
for step in range(1, steps + 1):
    dumped = []
    for at, task in enumerate(tasks.slice((step - 1) * batch, batch).iter_rows(named=True)):
        for session in range(group):
            reward = 0.5 if session == 0 else 1.0
            key = f"u{step}-{at}_{session}_0"
            row = Row(
                key=key, step=step, policy_version=None, split="train", task_id=task["extra_info"]["task_id"],
                prompt="q", answer=task["reward_model"]["ground_truth"], prompt_ids=(5, 6),
                completion_ids=(7, 8, 2), logprobs=(-0.1, 0.0, -0.2), response_mask=(1, 0, 1), text="x",
                reward=reward, correct=session > 0, components={"correct": reward}, finish="stop", turns=1,
                tool_calls=1, tool_errors=0,
            )  # fmt: skip
            if not (mode == "lost rows" and session):
                append_row(root / "rows", row)
            score = reward + (0.25 if mode == "other reward" else 0.0)
            dumped.append({"input": "q", "output": "x", "gts": "4", "score": score, "step": step, "uid": key})
    folder = root / "rollout_dumps"
    folder.mkdir(exist_ok=True)
    (folder / f"{step}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in dumped))
    shards = root / "checkpoints" / f"global_step_{step}" / "actor"
    if mode != "saves nothing" and step % int(said["trainer.save_freq"]) == 0:
        shards.mkdir(parents=True)
        (shards / "fsdp_config.json").write_text('{"world_size": 1}')
    data = {
        "critic/score/mean": 0.75, "actor/pg_loss": 0.1, "actor/grad_norm": None if mode == "nan" else 0.5,
        "actor/entropy": 1.0, "actor/lr": 1e-3, "timing_s/step": 1.5, "perf/throughput": 99.0,
    }  # fmt: skip
    with metrics.open("a") as stream:
        stream.write(json.dumps({"step": step, "data": data}) + "\n")
    if mode == "nan":
        time.sleep(60)
