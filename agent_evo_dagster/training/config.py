"""The typed configuration of a training run. Where its values come from is in config_sources."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from agent_evo_dagster.training.breaker import BreakerSettings

MODELS = ("embedded", "smollm2")


class RunSettings(BaseModel):
    """What decides a run, but for when it is stopped early."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    backend: Literal["hf", "verl", "mindspeed_rl"] = Field(
        "hf", description="Training library behind the run: Hugging Face TRL, verl, or MindSpeed-RL."
    )
    model: str = Field(
        "embedded",
        pattern=rf"^({'|'.join(MODELS)}|(/|\./|\.\./|~).*)$",
        max_length=1024,
        description="Policy to train: embedded, smollm2, or the path of a folder in the Hugging Face layout "
        "(with / or ./ or ~ in front; nothing is downloaded).",
    )
    dataset: Literal["arithmetic", "file", "hf_disk"] = Field(
        "arithmetic",
        description="Tasks: generated arithmetic; a JSONL or Parquet file; or a folder of HF datasets.",
    )
    dataset_path: str = Field("", description="Where the file or folder of the tasks is.", max_length=1024)
    question_field: str = Field("", description="Column of the question; empty: found by its usual names.")
    answer_field: str = Field("", description="Column of the answer; empty: found by its usual names.")
    answer_type: Literal["number", "text"] = Field(
        "number", description="What answers are; rows with another answer are dropped and counted."
    )
    max_question_characters: int = Field(
        4000,
        ge=1,
        le=1_000_000,
        description="Characters of a question; rows with more are dropped and counted.",
    )
    environment: str = Field(
        "arithmetic",
        pattern=r"^(arithmetic|math_calc|tools|[^:]+\.py(:[A-Za-z_]\w*)?|\w+(\.\w+)*:[A-Za-z_]\w*|\w+(\.\w+)+)$",
        description="arithmetic, math_calc, tools, or a class of yours: FILE.py:Class or package.mod:Class.",
        max_length=1024,
    )
    agent: str = Field(
        "tool", description="tool, or a class of yours, named as environments are.", max_length=1024
    )
    tools: str = Field(
        "", description="A list of tools of yours, named as environments are.", max_length=1024
    )
    reward: str = Field(
        "shaped",
        description="shaped, binary, or a reward of yours, named as environments are.",
        max_length=1024,
    )
    engine_wrapper: str = Field(
        "",
        description="File or module of a class that brings environment and agent together.",
        max_length=1024,
    )
    tool_format: Literal["auto", "hermes", "qwen_xml", "llama_json", "openai"] = Field(
        "auto", description="How the policy writes tool calls; auto: as its chat template shows."
    )
    tool_listing: Literal["auto", "none", "template", "system"] = Field(
        "auto",
        description="How the prompt lists the tools: not, by the chat template, or as a system message.",
    )
    memory: Literal["none", "simple", "summary"] = Field(
        "none", description="What is kept of a conversation that no longer fits."
    )
    summary_fallback: Literal["none", "extract"] = Field(
        "none", description="Without a summary: the rollout fails, or the first words of each turn are kept."
    )
    seed: int = Field(0, ge=0, lt=2**31, description="Seed of data, sampling and optimiser.")
    learning_rate: float = Field(2e-5, ge=0, le=1e-1, description="Step size of AdamW; 0 is the control.")
    warmup_steps: int = Field(2, ge=0, le=1000, description="Optimiser steps of linear warm-up.")
    max_steps: int = Field(10, ge=1, le=100_000, description="Optimiser steps.")
    prompts_per_step: int = Field(16, ge=1, le=4096, description="Different problems in a step.")
    num_generations: int = Field(8, ge=2, le=256, description="Rollouts of one problem: the group of GRPO.")
    num_iterations: int = Field(1, ge=1, le=16, description="Optimiser passes over one batch of rollouts.")
    temperature: float = Field(1.0, gt=0, le=5, description="Sampling temperature of rollouts.")
    beta: float = Field(0.0, ge=0, le=10, description="Weight of the KL term.")
    entropy_coef: float = Field(0.0, ge=0, le=10, description="Weight of the entropy bonus.")
    epsilon: float = Field(0.2, gt=0, le=1, description="Lower clip range of the ratio.")
    epsilon_high: float = Field(0.28, gt=0, le=1, description="Upper clip range of the ratio.")
    loss_type: Literal["grpo", "dapo", "dr_grpo", "bnpo"] = Field("dapo", description="Loss aggregation.")
    scale_rewards: Literal["group", "batch", "none"] = Field("group", description="Scale of advantages.")
    max_grad_norm: float = Field(1.0, gt=0, le=1000, description="Gradient clipping norm.")
    weight_decay: float = Field(0.0, ge=0, le=1, description="AdamW's weight decay.")
    adam_beta2: float = Field(0.98, gt=0, lt=1, description="AdamW's second moment decay.")
    max_turns: int = Field(3, ge=1, le=64, description="Assistant turns in one rollout.")
    max_new_tokens: int = Field(
        40, ge=1, le=32_768, description="Tokens that the policy may sample in a turn."
    )
    max_completion_length: int = Field(
        96, ge=2, le=131_072, description="Tokens of all turns and tool results."
    )
    device: Literal["auto", "cpu", "cuda", "npu", "mps"] = Field(
        "auto", description="Where torch computes; auto: the first of cuda, npu, mps, cpu that is here."
    )
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = Field(
        "auto", description="Precision of matrix products; auto: bfloat16 on cuda and npu, else float32."
    )
    lora_rank: int = Field(0, ge=0, le=1024, description="Rank of LoRA adapters; 0 trains all weights.")
    lora_alpha: int = Field(32, ge=1, le=4096, description="Scale of the adapters, over their rank.")
    gradient_checkpointing: bool = Field(False, description="Compute activations twice, to save memory.")
    micro_batch_size: int = Field(256, ge=1, le=65_536, description="Most rows of one forward and backward.")
    save_steps: int = Field(5, ge=0, le=100_000, description="Steps between states to go on from; 0: none.")
    context_length: int = Field(
        0,
        ge=0,
        le=10_000_000,
        description="Tokens that the policy sees at once, prompt included; 0: unbounded.",
    )
    tool_seconds: float = Field(30, gt=0, le=86_400, description="Deadline of one tool call, in seconds.")
    turn_seconds: float = Field(
        120, gt=0, le=86_400, description="Deadline of the environment's answer to one turn, in seconds."
    )
    rollout_seconds: float = Field(
        0, ge=0, le=604_800, description="Deadline of one rollout, in seconds; 0: none."
    )
    refills: int = Field(
        1,
        ge=0,
        le=10,
        description="Further attempts at a rollout that failed through no doing of the policy.",
    )
    truncated: Literal["score", "mask"] = Field(
        "score", description="Rollouts cut at a limit of tokens: trained with their score, or not at all."
    )
    threads: int = Field(1, ge=1, le=1024, description="CPU threads of torch.")
    evaluation_tasks: int = Field(200, ge=2, le=100_000, description="Held-out problems of the report split.")
    evaluation_samples: int = Field(2, ge=1, le=256, description="Sampled rollouts of each held-out problem.")


class TrainingConfig(BreakerSettings, RunSettings):
    """Everything that decides a run. Names are TRL's where TRL has one; units are in the descriptions."""
