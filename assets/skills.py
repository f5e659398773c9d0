"""The assets of skills: the bank, and one asset per compiled SKILL.md. Packages have a file of their own."""

import difflib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import polars as pl

from agent_evo_dagster.patches.frames import patches_from_frame
from agent_evo_dagster.patches.policies import people_needed
from agent_evo_dagster.patches.types import Patch
from agent_evo_dagster.rounds.adoption import adopt_approved
from agent_evo_dagster.rounds.provenance import Source, sources_of
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.compile import compile_all
from agent_evo_dagster.skills.sections import parse_document
from agent_evo_dagster.skills.types import CompiledSkill, SkillRef
from assets.observed import Observations, observed
from assets.partitions import EVOLUTION_ROUNDS
from assets.presentation import OWNER, Results, check, diff, numbers, table
from assets.subset import asked
from resources.rounds import RoundsResource
from resources.skill_bank import SkillBankResource

GROUP = "skills"
_VERSION_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "group": pl.String,
    "name": pl.String,
    "sha256": pl.String,
    "patches": pl.List(pl.String),
}
VERSIONS = pl.Schema(_VERSION_COLUMNS)
_READS = ("skill_patches", "patch_decisions", "session_findings", "training_findings", "segments")
COMPILED = pl.Schema({"sha256": pl.String, "text": pl.String})


@observed(
    dg.AssetSpec(
        "skill_bank_source",
        group_name=GROUP,
        kinds={"markdown", "yaml"},
        description="The skill bank on disk: bases and approved patches. Written through the gate alone.",
    )
)
def skill_bank_source(skill_bank: SkillBankResource) -> Observations:
    """Observe the bank; its version is the hash of its content, so a hand edit shows."""
    yield dg.ObserveResult(data_version=dg.DataVersion(skill_bank.content_hash()))


def build_compiled_skills(bank: Path) -> dg.AssetsDefinition:
    """One asset per skill that `bank.yaml` names, made together: all of them compile, or none."""
    refs = SkillBank.open(bank).skills()
    outs = {output_name(ref): _out(ref) for ref in refs}
    versions = dg.AssetOut(
        is_required=False,
        group_name=GROUP,
        owners=[OWNER],
        kinds={"parquet"},
        description="The version of every skill in the round, with the patches in it.",
    )

    @dg.multi_asset(
        name="compiled_skills",
        can_subset=True,
        outs={**outs, "skill_versions": versions},
        ins={name: dg.AssetIn() for name in _READS},
        deps=[skill_bank_source],
        partitions_def=EVOLUTION_ROUNDS,
        check_specs=[
            dg.AssetCheckSpec("compiled_valid", asset=asset_key(ref), blocking=True) for ref in refs
        ],
    )
    def compiled_skills(
        context: dg.AssetExecutionContext,
        rounds: RoundsResource,
        skill_bank: SkillBankResource,
        skill_patches: pl.DataFrame,
        patch_decisions: pl.DataFrame,
        session_findings: pl.DataFrame,
        training_findings: pl.DataFrame,
        segments: pl.DataFrame,
    ) -> Results:
        """Compile the skills of the round, and adopt what is approved and was never adopted."""
        manifest = rounds.manifest(context)
        then = skill_bank.read_by(manifest)
        patches = patches_from_frame(skill_patches)
        adoption = adopt_approved(
            skill_bank.living(),
            skill_bank.ledger(),
            patches,
            patch_decisions,
            now=datetime.now(UTC),
            people=people_needed(rounds.policy_of(manifest)),
        )
        before = {skill.name: skill.text for skill in compile_all(then)}
        after = compile_all(then, extra=adoption.approved)
        findings = pl.concat([session_findings, training_findings])
        chains = {patch.id: sources_of(patch, findings, segments) for patch in adoption.approved}
        results = [_compiled(skill, before[skill.name], adoption.approved, chains) for skill in after]
        results.append(_versions(then, after, adoption.approved, adopted=len(adoption.adopted)))
        yield from asked(context, results)

    return compiled_skills


def _out(ref: SkillRef) -> dg.AssetOut:
    return dg.AssetOut(
        key=asset_key(ref),
        is_required=False,  # also for rounds that read a bank without this skill
        group_name=GROUP,
        owners=[OWNER],
        kinds={"markdown"},
        description=f"The compiled {ref.output}.",
    )


def asset_key(ref: SkillRef) -> dg.AssetKey:
    """`skills/<group>/<name>`."""
    return dg.AssetKey(["skills", ref.group, ref.name])


def output_name(ref: SkillRef) -> str:
    """The key as Dagster names an output."""
    return f"{ref.group}__{ref.name}".replace("-", "_")


def _compiled(
    skill: CompiledSkill,
    before: str,
    approved: tuple[Patch, ...],
    chains: Mapping[str, list[Source]],
) -> dg.MaterializeResult[pl.DataFrame]:
    key = dg.AssetKey(["skills", skill.group, skill.name])
    patches = [patch for patch in approved if patch.skill == skill.name]
    lines = difflib.unified_diff(
        before.splitlines(), skill.text.splitlines(), "before", "after", lineterm="", n=2
    )
    problems = [] if parse_document(skill.text, origin=skill.name).sections() or skill.text else ["empty"]
    chain = [
        {"patch": p.id, "round": p.source_round, "from": [source.as_json() for source in chains[p.id]]}
        for p in patches
    ]
    return dg.MaterializeResult(
        asset_key=key,
        value=pl.DataFrame([(skill.sha256, skill.text)], schema=COMPILED, orient="row"),
        data_version=dg.DataVersion(skill.sha256),
        metadata={
            **numbers(
                {
                    "lines": skill.text.count("\n"),
                    "settings": len(skill.settings),
                    "new_patches": len(patches),
                }
            ),
            "sha256": skill.sha256,
            "diff": diff("\n".join(lines)),
            "comes_from": dg.MetadataValue.json(chain),
        },
        check_results=[check("compiled_valid", problems)],
    )


def _versions(
    bank: SkillBank, skills: list[CompiledSkill], approved: tuple[Patch, ...], *, adopted: int
) -> dg.MaterializeResult[pl.DataFrame]:
    active = {ref.name: list(bank.manifest(ref).applied) for ref in bank.skills()}
    rows = [
        (
            skill.group,
            skill.name,
            skill.sha256,
            [*active[skill.name], *(p.id for p in approved if p.skill == skill.name)],
        )
        for skill in skills
    ]
    frame = pl.DataFrame(rows, schema=VERSIONS, orient="row")
    return dg.MaterializeResult(
        asset_key=dg.AssetKey("skill_versions"),
        value=frame,
        metadata={
            **numbers({"adopted": adopted, "skills": frame.height}),
            "versions": table(frame, frame.columns),
        },
    )
