"""What a patch changes: the text after it, its diff, its settings, and the hash that a decision is about.

Whether a patch is "settings only" is found here from the two texts, never from what the patch says of itself.
"""

import difflib
import json
from collections.abc import Mapping
from typing import TypeAlias

from agent_evo_dagster.errors import PatchError
from agent_evo_dagster.files import sha256_bytes
from agent_evo_dagster.patches.application import fitted_body, joined, patched_section
from agent_evo_dagster.patches.document import section_hash
from agent_evo_dagster.patches.fences import split_lines
from agent_evo_dagster.patches.settings_block import SettingSpec, read_settings, with_default
from agent_evo_dagster.patches.types import Patch

Number: TypeAlias = int | float
SettingsChange: TypeAlias = dict[str, tuple[Number, Number]]  # name -> old and new default


def diff_hash(patch: Patch) -> str:
    """Hex SHA-256 of all that adopting `patch` would do: where, how, what, and in what relation to others.

    Who proposed it, when and from which findings is left out: another round that proposes the same edit
    proposes what was decided on.
    """
    fields = patch.model_dump(
        mode="json", exclude={"description", "source_round", "findings", "status", "created"}
    )
    return sha256_bytes(json.dumps(fields, sort_keys=True, separators=(",", ":")).encode())


def patched_text(base: str, patch: Patch) -> str:
    """The section's text with `patch` applied alone; what is inserted after it stands at its end.

    Raises:
        PatchError: `base` is not the text that the patch was made against.
    """
    if section_hash(base) != patch.base_hash:
        raise PatchError(
            f"Patch {patch.id} was made against {patch.skill}#{patch.target_section} with the base hash "
            f"{patch.base_hash[:12]}; the text given has {section_hash(base)[:12]}. "
            f"Propose it anew against the section as it is."
        )
    if patch.action == "insert_after":
        return joined(base, fitted_body(base, patch))
    return patched_section(base, patch)


def result_hash(base: str, patch: Patch) -> str:
    """Hex SHA-256 of the section's text after `patch` alone; `patch.base_hash` is that of the text before.

    Raises:
        PatchError: `base` is not the text that the patch was made against.
    """
    return section_hash(patched_text(base, patch))


def unified_diff(base: str, patch: Patch) -> str:
    """The section before and after, as a unified diff."""
    name = f"{patch.skill}#{patch.target_section}"
    lines = difflib.unified_diff(
        split_lines(base),
        split_lines(patched_text(base, patch)),
        fromfile=name,
        tofile=f"{name} ({patch.id})",
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def settings_change(base: str, patch: Patch) -> SettingsChange | None:
    """The defaults that `patch` changes, old and new; None where it changes anything else, or nothing.

    Giving both texts the same defaults must make them the same bytes: so no bound, reason, name or word of
    prose can have been changed beside them.

    Raises:
        PatchError: a settings block that is not well formed, or a base that is not the patch's.
    """
    after = patched_text(base, patch)
    old, new = _by_name(base, f"{patch.id} before"), _by_name(after, f"{patch.id} after")
    if old.keys() != new.keys():
        return None
    pairs = {name: (old[name].default, new[name].default) for name in old}
    changed = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
    if not changed or any(
        not old[name].min <= value <= old[name].max for name, (_, value) in changed.items()
    ):
        return None
    return changed if _with_all(base, changed) == _with_all(after, changed) else None


def _by_name(text: str, origin: str) -> dict[str, SettingSpec]:
    return {spec.name: spec for spec in read_settings(text, origin=origin)}


def _with_all(text: str, changed: Mapping[str, tuple[Number, Number]]) -> str | None:
    """`text` with the new defaults written in one way; None where a bound of its own forbids one."""
    try:
        for name, (_, value) in changed.items():
            text = with_default(text, name, value)
    except PatchError:
        return None
    return text


def settings_json(change: Mapping[str, tuple[Number, Number]] | None) -> str:
    """The `settings` column of a patch row."""
    return json.dumps({name: list(pair) for name, pair in sorted((change or {}).items())})


def new_values(settings: str) -> dict[str, Number]:
    """The values that a patch row's `settings` column asks for: what a probe's candidate runs with."""
    return {name: pair[1] for name, pair in json.loads(settings).items()}
