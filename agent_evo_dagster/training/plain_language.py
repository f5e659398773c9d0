"""Training settings read from a sentence, in English or Chinese. Defaults and ranges are the config's own.

The grammar is small and closed: a name and a number (`lr=5e-6`, `batch size of 8`, `学习率 1e-5`), a number
and its unit (`20 steps`, `20 步`), or a setting's own name and a word (`loss_type=grpo`). What it does not
understand comes back as it was written, so that a caller can say so.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.config import MODELS, TrainingConfig

MAX_REQUEST_CHARACTERS = 4_000

# Beside each setting's own name, which is always understood.
_NAMES = {
    "learning_rate": ("lr", "学习率"),
    "warmup_steps": ("warm-up", "warm up", "warmup", "预热步数", "预热"),
    "max_steps": ("number of steps", "steps", "训练步数", "步数"),
    "prompts_per_step": ("batch size", "batch", "批量大小", "批次大小", "批大小", "批量"),
    "num_generations": ("generations", "group size", "组大小", "生成数"),
    "temperature": ("温度",),
    "seed": ("random seed", "随机种子", "种子"),
    "beta": ("kl weight", "kl coefficient", "kl 系数", "kl系数"),
    "max_turns": ("turns", "最大轮数", "轮数"),
    "max_grad_norm": ("gradient clipping", "grad norm", "梯度裁剪"),
}
_UNITS = {
    "warmup_steps": ("warm-?up steps", "步预热"),
    "max_steps": ("optimi[sz]er steps", "training steps", "steps?", "步"),
    "prompts_per_step": ("prompts per step", "problems per step"),
    "num_generations": ("generations?", "rollouts per (?:prompt|problem)", "个生成", "次生成"),
    "max_turns": ("turns?", "轮"),
    "evaluation_tasks": ("(?:held-out|evaluation) (?:problems|tasks)",),
}
_NUMBER = (
    r"(?P<number>[-+]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:e[-+]?\d+)?)(?P<thousand>k(?![a-z]))?"
)
# A sentence's full stop may follow a number; a letter, digit or per cent sign may not.
_END = r"(?![a-z0-9_.%]*[a-z0-9_%])"
_LINK = r"\s*(?:=|:|：|\bof\b|\bto\b|\bis\b|\bat\b|设为|改为|为|是|\s)\s*"
# `every 5 steps` is an interval, not a length.
_NOT_AN_INTERVAL = r"(?<!every )(?<!each )(?<!per )(?<!每)(?<!每 )(?<!\d,)(?<![a-z0-9_.-])"
_MODEL = re.compile(
    r"(?:[\w.-]+/)?\b(?:qwen|llama|smollm|mistral|mixtral|deepseek|gemma|phi-?\d|gpt|glm|yi-\d)[\w.-]*"
    r"|\b[a-z][\w.]*-\d+(?:\.\d+)?[bm]\b(?:-\w+)*",
    re.IGNORECASE | re.ASCII,
)
_KNOWN_MODEL = re.compile(
    r"\b(?P<word>embedded|smollm2)(?:-135m(?:-instruct)?)?(?:\s+(?:policy|model))?\b", re.IGNORECASE
)
# Words that carry no setting, taken off the ends of what is left over.
_FILLER = (
    r"(?:\b(?:a|an|and|at|for|of|please|run|set|the|to|train|use|using|with)\b"
    r"|请|训练|使用|用|并且|和|以|的|[\s,，.。;；:：、!！])+"
)
_ENDS = re.compile(rf"^{_FILLER}|{_FILLER}$", re.IGNORECASE)


@dataclass(frozen=True)
class Understood:
    """One setting that the sentence names."""

    name: str
    value: float | int | str
    words: str


@dataclass(frozen=True)
class Reading:
    """A sentence, divided into what was understood and the rest."""

    understood: tuple[Understood, ...]
    ignored: str


def read_request(text: str) -> Reading:
    """Find the training settings that `text` names, in the order in which it names them.

    Raises:
        TrainingError: it names a model that cannot be trained here, or one setting with two values.
    """
    if len(text) > MAX_REQUEST_CHARACTERS:
        raise TrainingError(
            f"The request has {len(text):,} characters; at most {MAX_REQUEST_CHARACTERS:,} are read. "
            "Shorten it."
        )
    found: list[tuple[int, Understood]] = []
    rest = text.replace("\0", " ")
    for name, pattern in _patterns():
        found.extend((match.start(), _understood(name, match)) for match in pattern.finditer(rest))
        rest = pattern.sub(lambda match: "\0" * len(match.group()), rest)
    _refuse_other_models(rest)
    leftovers = (_ENDS.sub("", part) for part in re.split("\0+", rest))
    understood = _agreed([item for _, item in sorted(found, key=lambda pair: pair[0])])
    return Reading(understood, "; ".join(part for part in leftovers if part))


def _patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    """The grammar, explicit forms first: what one pattern takes, no later one sees."""
    fields = tuple(TrainingConfig.model_fields)
    for name in fields:
        yield name, _compiled(rf"(?<![\w-]){name}\s*[=:：]\s*(?:{_NUMBER}{_END}|(?P<word>[\w./-]*\w))")
    for name in fields:
        for alias in sorted((*_NAMES.get(name, ()), name.replace("_", " ")), key=len, reverse=True):
            words = re.escape(alias).replace(r"\ ", r"[\s_-]+")
            link = _LINK if alias.isascii() else f"(?:{_LINK})?"
            yield name, _compiled(rf"(?<![a-z_]){words}{link}{_NUMBER}{_END}(?:\s*steps\b)?")
    for name, units in _UNITS.items():
        for unit in units:
            yield name, _compiled(rf"{_NOT_AN_INTERVAL}{_NUMBER}\s*{unit}(?![a-z_])")
    yield "model", _KNOWN_MODEL


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _understood(name: str, match: re.Match[str]) -> Understood:
    groups = match.groupdict()
    words = match.group().strip()
    if groups.get("number") is None:
        return Understood(name, groups["word"].lower(), words)
    digits = groups["number"].replace(",", "")
    scale = 1000 if groups["thousand"] else 1
    number = int(digits) if re.fullmatch(r"[-+]?\d+", digits) else float(digits)
    return Understood(name, number * scale, words)


def _refuse_other_models(rest: str) -> None:
    if match := _MODEL.search(rest):
        known = ", ".join(MODELS)
        raise TrainingError(
            f"The request asks for the model {match.group().rstrip('.-')!r}; the backend hf trains here: "
            f"{known}. Leave the model out of the request, name one of these, or give a folder: "
            "--set model=PATH."
        )


def _agreed(found: list[Understood]) -> tuple[Understood, ...]:
    first: dict[str, Understood] = {}
    for item in found:
        other = first.setdefault(item.name, item)
        if other.value != item.value:
            raise TrainingError(
                f"The request gives {item.name} twice: {other.words!r} and {item.words!r}. Say it once."
            )
    return tuple(first.values())
