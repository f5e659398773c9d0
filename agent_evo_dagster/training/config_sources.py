"""Where the values of a training configuration come from: defaults, skills, a file, the request, overrides.

Every value keeps its source, its origin and its reason. Fields and ranges are in config, the grammar of a
request is in plain_language.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import polars as pl
from pydantic import ValidationError

from agent_evo_dagster.errors import TrainingError
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.own_files import names_own_file
from agent_evo_dagster.training.plain_language import read_request

Source = Literal["default", "skill", "file", "request", "override", "manifest"]
SettingValue = float | int | str

# One row per field of the configuration.
CONFIG_SCHEMA = pl.Schema(
    {
        "name": pl.String,
        "value": pl.String,  # JSON text
        "source": pl.String,  # Source
        "origin": pl.String,  # "rllm-config/optimisation", the words of the request, ...
        "why": pl.String,
    }
)


@dataclass(frozen=True)
class SourcedSetting:
    """A setting as a section of a compiled skill gives it."""

    name: str
    value: SettingValue
    min: float | None
    max: float | None
    why: str
    skill: str
    section: str

    @property
    def origin(self) -> str:
        """Skill and section, as a person looks them up."""
        return f"{self.skill}/{self.section}"


@dataclass(frozen=True)
class SettingRow:
    """One field of the configuration, with where its value comes from."""

    name: str
    value: SettingValue
    source: Source
    origin: str
    why: str


@dataclass(frozen=True)
class ResolvedConfig:
    """The configuration, its provenance, and the words of the request that say nothing to it.

    `beyond` has a line for each value that a person took out of the range of its skill.
    """

    config: TrainingConfig
    rows: list[SettingRow]
    ignored: str = ""
    understood: int = 0  # settings that the request names
    beyond: tuple[str, ...] = ()


def resolve_config(
    *,
    skill_settings: Sequence[SourcedSetting],
    request: str,
    overrides: Mapping[str, SettingValue],
    seed: int,
    file: Mapping[str, SettingValue] = MappingProxyType({}),
) -> ResolvedConfig:
    """Put the sources together; the later one wins: default, skill or seed, file, request, override.

    A skill's bounds hold for the skill. A person may go beyond them, up to the config's own; the row then
    says so.

    Raises:
        TrainingError: an unknown setting, a value out of its range, or one setting given twice by one source.
    """
    rows = {
        name: SettingRow(name, field.default, "default", "training defaults", field.description or "")
        for name, field in TrainingConfig.model_fields.items()
    }
    rows["seed"] = SettingRow("seed", seed, "manifest", "round manifest", "fixed when the round was opened")
    skills = _skill_rows(skill_settings)
    rows.update({name: row for name, (row, _) in skills.items()})
    bounds = {name: setting for name, (_, setting) in skills.items()}

    for name, value in file.items():
        _require_known(name, "the configuration file")
        rows[name] = _asked(SettingRow(name, value, "file", name, "given by a file"), rows, bounds)
    reading = read_request(request)
    for item in reading.understood:
        _refuse_own_file(item.name, item.value, f"the request ({item.words!r})")
        rows[item.name] = _asked(
            SettingRow(item.name, item.value, "request", item.words, "asked for in plain language"),
            rows,
            bounds,
        )
    for name, value in overrides.items():
        _require_known(name, "the overrides")
        rows[name] = _asked(
            SettingRow(name, value, "override", f"{name}={value}", "given by a flag"), rows, bounds
        )
    config = _validated(rows)
    final = [_with_value(row, getattr(config, name)) for name, row in rows.items()]
    return ResolvedConfig(config, final, reading.ignored, len(reading.understood), _beyond(final, bounds))


def to_frame(resolved: ResolvedConfig) -> pl.DataFrame:
    """One row per field, in the order of the config (CONFIG_SCHEMA)."""
    return pl.DataFrame(
        [(row.name, json.dumps(row.value), row.source, row.origin, row.why) for row in resolved.rows],
        schema=CONFIG_SCHEMA,
        orient="row",
    )


def config_from_frame(frame: pl.DataFrame) -> TrainingConfig:
    """The configuration that a frame of `to_frame` holds.

    Raises:
        TrainingError: a field is missing, unknown, or out of its range.
    """
    values = {name: json.loads(text) for name, text in frame.select("name", "value").iter_rows()}
    missing = sorted(TrainingConfig.model_fields.keys() - values.keys())
    if missing or len(values) != frame.height:
        raise TrainingError(
            f"The stored training configuration has {frame.height} rows for {len(values)} settings and lacks "
            f"{', '.join(missing) or 'none'}. Materialise training_config again."
        )
    try:
        return TrainingConfig.model_validate(values)
    except ValidationError as error:
        raise TrainingError(f"The stored training configuration cannot be used: {error}") from error


def _skill_rows(settings: Sequence[SourcedSetting]) -> dict[str, tuple[SettingRow, SourcedSetting]]:
    found: dict[str, tuple[SettingRow, SourcedSetting]] = {}
    for setting in settings:
        _refuse_own_file(setting.name, setting.value, setting.origin)
        _require_known(setting.name, f"the section {setting.section!r} of the skill {setting.skill!r}")
        if setting.name == "seed":
            raise TrainingError(
                f"{setting.origin} sets seed; the seed belongs to the round. Remove it from the skill."
            )
        if setting.name in found:
            raise TrainingError(
                f"{setting.name} is set by {found[setting.name][1].origin} and by {setting.origin}. "
                "Keep it in one section."
            )
        if problem := _outside(setting.value, setting):
            raise TrainingError(
                f"{setting.origin} sets {setting.name} to {setting.value}, {problem}. "
                "Correct the skill's settings block."
            )
        row = SettingRow(setting.name, setting.value, "skill", setting.origin, setting.why)
        found[setting.name] = (row, setting)
    return found


def _refuse_own_file(name: str, value: SettingValue, where: str) -> None:
    """Which files are run or read is for a person to say: words and skills may be anybody's."""
    if names_own_file(name, value):
        raise TrainingError(
            f"{where} sets {name} to {value!r}, which names code or data of yours. Give it by a flag or in a "
            f"file: --set {name}={value}."
        )


def _require_known(name: str, where: str) -> None:
    if name not in TrainingConfig.model_fields:
        raise TrainingError(
            f"Unknown training setting {name!r} in {where}. "
            f"Known: {', '.join(sorted(TrainingConfig.model_fields))}."
        )


def _outside(value: SettingValue, bounds: SourcedSetting) -> str | None:
    if isinstance(value, str) or bounds.min is None or bounds.max is None:
        return None
    if bounds.min <= value <= bounds.max:
        return None
    return f"outside its range [{bounds.min:g}, {bounds.max:g}] in {bounds.origin}"


def _beyond(rows: Sequence[SettingRow], bounds: Mapping[str, SourcedSetting]) -> tuple[str, ...]:
    problems = {row.name: _outside(row.value, bounds[row.name]) for row in rows if row.name in bounds}
    values = {row.name: row.value for row in rows}
    return tuple(f"{name} = {values[name]} is {problem}" for name, problem in problems.items() if problem)


def _asked(
    row: SettingRow, rows: Mapping[str, SettingRow], bounds: Mapping[str, SourcedSetting]
) -> SettingRow:
    """The row with what it replaces, and a note where it leaves the range that patches are held to."""
    before = rows[row.name]
    notes = [row.why, f"instead of {before.value} ({before.source}: {before.origin})"]
    if row.name in bounds and (problem := _outside(row.value, bounds[row.name])):
        notes.append(problem)
    return SettingRow(row.name, row.value, row.source, row.origin, "; ".join(notes))


def _with_value(row: SettingRow, value: SettingValue) -> SettingRow:
    return SettingRow(row.name, value, row.source, row.origin, row.why)


def _validated(rows: Mapping[str, SettingRow]) -> TrainingConfig:
    try:
        return TrainingConfig.model_validate({name: row.value for name, row in rows.items()})
    except ValidationError as error:
        problems = []
        for detail in error.errors(include_url=False):
            row = rows[str(detail["loc"][0])]
            problems.append(f"{row.name} = {row.value!r} ({row.source}: {row.origin}): {detail['msg']}")
        raise TrainingError("Training settings that cannot be used:\n  " + "\n  ".join(problems)) from error
