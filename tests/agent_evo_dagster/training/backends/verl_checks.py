"""What runs inside verl's own Python for its tests: `python verl_checks.py NAME`, JSON on both ends.

The last line of standard output is the answer; verl says other things before it.
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any


def compose(cases: dict[str, Any]) -> dict[str, Any]:
    """For each case, values of verl's configuration at the given names, or its refusal."""
    from omegaconf import OmegaConf

    from agent_evo_dagster.errors import TrainingError
    from agent_evo_dagster.training.backends.ray_settings import RaySettings
    from agent_evo_dagster.training.backends.verl_overrides import VerlFiles, overrides, runtime_variables
    from agent_evo_dagster.training.backends.verl_preflight import compose as composed
    from agent_evo_dagster.training.backends.verl_settings import VerlSettings
    from agent_evo_dagster.training.config import TrainingConfig

    found: dict[str, Any] = {}
    for name, case in cases.items():
        lines = overrides(
            TrainingConfig(backend="verl", **case.get("config", {})),
            VerlSettings.model_validate(case.get("verl", {})),
            RaySettings.model_validate(case.get("ray", {})),
            Path(case["model"]),
            VerlFiles(Path(case["root"])),
        )
        lines += runtime_variables(case.get("variables", {})) + case.get("more", [])
        try:
            config = composed(lines)
        except TrainingError as error:
            found[name] = str(error)
        else:
            found[name] = {key: OmegaConf.select(config, key) for key in case["show"]}
            found[name] = {
                key: OmegaConf.to_container(value) if OmegaConf.is_config(value) else value
                for key, value in found[name].items()
            }
    return found


def dataset(case: dict[str, Any]) -> list[Any]:
    """Task ids of verl's own dataset in its own order, with the length of each prompt."""
    from omegaconf import OmegaConf
    from transformers import AutoTokenizer
    from verl.utils.dataset.rl_dataset import RLHFDataset

    tokenizer = AutoTokenizer.from_pretrained(case["model"])
    config = OmegaConf.create({"max_prompt_length": 512, "filter_overlong_prompts": False})
    rows = RLHFDataset([case["file"]], tokenizer, config)
    return [
        [rows[at]["extra_info"]["task_id"], rows[at]["raw_prompt"][-1]["content"], rows[at]["agent_name"]]
        for at in range(len(rows))
    ]


def agent_loop(case: dict[str, Any]) -> list[Any]:
    """Rollouts by verl's registry of agent loops, sampled greedily from the policy in this process."""
    import hydra
    import torch
    from omegaconf import OmegaConf
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from verl.experimental.agent_loop.agent_loop import AgentLoopOutput, DictConfigWrap
    from verl.workers.rollout.replica import TokenOutput

    model = AutoModelForCausalLM.from_pretrained(case["model"], dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(case["model"])

    class Server:
        async def generate(
            self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any]
        ) -> TokenOutput:
            ids, logprobs = list(prompt_ids), []
            for _ in range(sampling_params["max_tokens"]):
                with torch.inference_mode():
                    scores = torch.log_softmax(model(torch.tensor([ids])).logits[0, -1].float(), -1)
                ids.append(int(scores.argmax()))
                logprobs.append(float(scores.max()))
                if ids[-1] in sampling_params["stop_token_ids"]:
                    break
            return TokenOutput(token_ids=ids[len(prompt_ids) :], log_probs=logprobs)

    (entry,) = OmegaConf.load(case["file"])
    found = []
    for at, row in enumerate(case["rows"]):
        loop = hydra.utils.instantiate(
            config=entry, trainer_config=DictConfigWrap(OmegaConf.create({})), server_manager=Server(),
            tokenizer=tokenizer, processor=None, hf_model_type="qwen2", dataset_cls=None, data_config=None,
            tools=None,
        )  # fmt: skip
        output = asyncio.run(loop.run({}, **row, uid=f"u{at}", session_id=0, global_steps=1, raw_prompt=[]))
        assert isinstance(output, AgentLoopOutput)
        fields = output.as_dict()
        found.append(
            [output.prompt_ids, output.response_ids, output.response_mask, float(fields["rm_scores"].sum())]
        )
    return found


def merge(case: dict[str, Any]) -> str:
    """Shard a policy over two processes as FSDP does, merge it, and give the merged folder."""
    import torch.multiprocessing

    from agent_evo_dagster.training.backends.verl_checkpoints import merge as merged

    shards, target = Path(case["root"]) / "actor", Path(case["root"]) / "merged"
    torch.multiprocessing.spawn(_shard, args=(case["model"], str(shards), case["port"]), nprocs=2)
    merged("fsdp", shards, Path(case["model"]), target, log=Path(case["root"]) / "log", tick=lambda: None)
    return str(target)


def _shard(rank: int, model: str, folder: str, port: int) -> None:
    """One process of verl's FSDP2 actor, as far as its checkpoint goes."""
    import torch
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE="2")
    torch.distributed.init_process_group("gloo", rank=rank, world_size=2)
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("fsdp",))
    policy = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    with torch.no_grad():
        policy.model.norm.weight.mul_(1.5)  # what was trained
    fully_shard(policy, mesh=mesh)
    Path(folder).mkdir(parents=True, exist_ok=True)
    torch.save(policy.state_dict(), f"{folder}/model_world_size_2_rank_{rank}.pt")
    if rank == 0:
        Path(folder, "fsdp_config.json").write_text('{"FSDP_version": 2, "world_size": 2}')
        AutoConfig.from_pretrained(model).save_pretrained(f"{folder}/huggingface")
        AutoTokenizer.from_pretrained(model).save_pretrained(f"{folder}/huggingface")
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def ray_jobs(case: dict[str, Any]) -> dict[str, Any]:
    """Jobs of a real cluster: ends, failures and stops; `left` finds one that a killed process left."""
    from agent_evo_dagster.errors import TrainingError, WorkerError
    from agent_evo_dagster.training.backends.foreign import follow, ray_job
    from agent_evo_dagster.training.backends.ray_environment import ray_environment
    from agent_evo_dagster.training.backends.ray_settings import RaySettings

    root, found = Path(case["root"]), {}
    env = {**ray_environment(RaySettings.model_validate(case["ray"])), "SAID": "to the job"}
    for name, code in case["jobs"].items():
        log, mark, began = root / f"{name}.log", root / f"{name}.job", time.monotonic()
        if name == "left":
            mark.write_text(_submitted(case["dashboard"]))
        left = mark.read_text() if mark.exists() else None
        command = [sys.executable, "-c", code]
        deadline = began + (8 if name == "stopped" else 120)
        try:
            with ray_job(command, dashboard=case["dashboard"], env=env, log=log, mark=mark) as run:
                stopped = follow(
                    run, log, poll=lambda end=deadline: time.monotonic() > end, tick=lambda: None
                )
            found[name] = ["stopped" if stopped else "ended", log.read_text()]
            assert not mark.exists()
            if left:
                found[name].append(_ended(case["dashboard"], left))
        except WorkerError as error:
            found[name] = ["failed", str(error)]
        except TrainingError as error:
            found[name] = ["refused", str(error)]
    return found


def _submitted(dashboard: str) -> str:
    from ray.job_submission import JobSubmissionClient

    return JobSubmissionClient(dashboard).submit_job(entrypoint="sleep 300")


def _ended(dashboard: str, job_id: str) -> str:
    from ray.job_submission import JobSubmissionClient

    client, deadline = JobSubmissionClient(dashboard), time.monotonic() + 30
    while not client.get_job_status(job_id).is_terminal() and time.monotonic() < deadline:
        time.sleep(0.5)
    return client.get_job_status(job_id).value


if __name__ == "__main__":
    answer = globals()[sys.argv[1]](json.loads(sys.stdin.read()))
    print("\n" + json.dumps(answer), flush=True)
