"""`agent-evo patches`: looking at proposals and deciding on them."""

import io
import re
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console
from typer.testing import CliRunner

from agent_evo_dagster.analysis.types import FINDING_SCHEMA
from agent_evo_dagster.cli.patch_views import MEANINGS, print_patch
from agent_evo_dagster.cli.patches import app
from agent_evo_dagster.errors import DecisionError, MergeConflictError, SkillBankError
from agent_evo_dagster.patches.decisions import ledger_of
from agent_evo_dagster.patches.gate import judge_patches
from agent_evo_dagster.patches.propose import propose_patches, to_frame
from agent_evo_dagster.patches.review import reviews
from agent_evo_dagster.patches.types import PatchStatus
from agent_evo_dagster.skills.bank import SkillBank, create_bank
from agent_evo_dagster.warehouse import Warehouse
from tests.agent_evo_dagster.patches.material import GROUPS, OPENED, SECTIONS, hint, rollouts
from tests.agent_evo_dagster.skills.banks import DEFAULT_BANK

runner = CliRunner()


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENT_EVO_HOME", str(tmp_path))
    monkeypatch.delenv("AGENT_EVO_BANK", raising=False)
    monkeypatch.setenv("COLUMNS", "250")
    return tmp_path


@pytest.fixture
def ledger(home):
    create_bank(DEFAULT_BANK, home / "skill_bank")
    return ledger_of(home / "skill_bank")


def a_round(
    home,
    ledger,
    key="round-0001",
    setting="learning_rate",
    *,
    rows=None,
    why="flat reward",
    sections=SECTIONS,
    factor=5.0,
):
    """Store one proposed patch as a round does, judged by `rows`."""
    finding = {
        "finding_id": "f-1",
        "severity": "warning",
        "confidence": 0.5,
        "count": 1,
        "target_skill": "rllm-config",
    }
    findings = pl.DataFrame(
        [{**finding, "hint": hint(setting, factor=factor, why=why)}], schema=FINDING_SCHEMA
    )
    options = {"round_key": key, "created": OPENED, "ledger": ledger}
    (patch,) = propose_patches(findings, sections, GROUPS, **options).patches
    store, frame = Warehouse(home / "warehouse"), to_frame([patch], sections)
    store.write(["skill_patches"], key, frame)
    if rows is not None:
        store.write(["patch_evaluation"], key, judge_patches(frame, {patch.id: rows}))
    return patch.id


def good():
    return rollouts([0.25] * 40, [0.75] * 40)


def flat():
    return rollouts([0.5] * 40, [0.5] * 40)


def run(*arguments):
    result = runner.invoke(app, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_list_without_rounds_says_what_to_do(home):
    assert "agent-evo rounds run" in run("list").output


def test_list_shows_every_patch_with_verdict_and_status(home, ledger):
    first = a_round(home, ledger, rows=good())
    second = a_round(home, ledger, "round-0002", "temperature")
    run("approve", first, "--by", "Ada", "--reason", "good")
    lines = run("list").output.splitlines()
    (one,) = [line for line in lines if first in line]
    (two,) = [line for line in lines if second in line]
    assert re.search(r"round-0001.*rllm-config#optimisation.*2e-05 -> 0.0001.*accept.*approved.*Ada", one)
    assert re.search(r"round-0002.*not judged.*proposed", two)


def test_list_never_cuts_an_id_however_narrow_the_terminal(home, ledger, monkeypatch):
    patch_id = a_round(home, ledger, rows=good())
    monkeypatch.setenv("COLUMNS", "60")
    assert patch_id in run("list").output


def test_show_has_diff_evidence_and_both_commands(home, ledger):
    patch_id = a_round(home, ledger, rows=good())
    output = run("show", patch_id).output
    for part in (
        "+learning_rate: {default: 0.0001",
        "gate: accept",
        "f-1",
        f"approve {patch_id}",
        f"reject {patch_id}",
    ):
        assert part in output


def test_a_piped_diff_is_verbatim_and_no_line_beside_it_is_broken(home, ledger, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    sections = {place: text.replace("```yaml", "```yaml\t") for place, text in SECTIONS.items()}
    patch_id = a_round(home, ledger, rows=good(), sections=sections)
    output = run("show", patch_id).output
    diff = Warehouse(home / "warehouse").read(["skill_patches"], "round-0001")["diff"][0]
    assert "\t" in diff and diff in output
    assert f"\n  agent-evo patches approve {patch_id} --by NAME --reason TEXT\n" in output


def test_on_a_terminal_no_line_of_the_diff_is_cut(home, ledger):
    patch_id = a_round(home, ledger, rows=good())
    (review,) = reviews(Warehouse(home / "warehouse"), ledger)
    stream = io.StringIO()
    print_patch(Console(file=stream, force_terminal=True, width=40, color_system=None), review, ledger)
    assert review.patch.id == patch_id and review.diff in stream.getvalue()


def test_the_list_says_what_the_states_mean_that_it_shows(home, ledger):
    first = a_round(home, ledger, rows=good())
    a_round(home, ledger, "round-0002", "temperature")
    output = run("list").output
    assert "\nproposed   a round proposed it" in output and "\nevaluated  judged, and nobody" in output
    assert "\nrejected" not in output
    run("reject", first, "--by", "Ada", "--reason", "no")
    assert "\nrejected   decided against" in run("list").output


def test_every_state_has_a_meaning_in_the_list_and_on_the_page_of_the_gate():
    page = (Path(__file__).parents[3] / "docs" / "gate.md").read_text()
    for status in PatchStatus:
        meaning = MEANINGS[status].split(":")[0]
        assert f"| `{status.value}` | {meaning}" in page


def test_approve_records_and_says_what_comes_next(home, ledger):
    patch_id = a_round(home, ledger, rows=good())
    before = datetime.now(UTC)
    output = run("approve", patch_id[:6], "--by", "Ada", "--reason", "good evidence").output
    assert "agent-evo rounds run round-0001 --only adopt" in output
    record = ledger.decision(patch_id)
    assert (record.by, record.reason, record.decision, record.override) == (
        "Ada",
        "good evidence",
        "approve",
        False,
    )
    assert before <= record.at <= datetime.now(UTC)
    assert "decision: approve by Ada" in run("show", patch_id).output


def test_approving_against_the_gate_needs_override_and_shows_it(home, ledger):
    patch_id = a_round(home, ledger, rows=flat())
    with pytest.raises(DecisionError, match="--override"):
        run("approve", patch_id, "--by", "Ada", "--reason", "I know better")
    output = run("approve", patch_id, "--by", "Ada", "--reason", "I know better", "--override").output
    assert "against the gate" in output
    assert ledger.decision(patch_id).override
    assert "against the gate" in run("show", patch_id).output


def test_reject_is_final(home, ledger):
    patch_id = a_round(home, ledger, rows=good())
    output = run("reject", patch_id, "--by", "Ada", "--reason", "no").output
    assert "rejected by Ada" in output and "agent-evo rounds run round-0001 --only adopt" in output
    with pytest.raises(DecisionError, match="Ada decided 'reject'"):
        run("approve", patch_id, "--by", "Bob", "--reason", "yes")


def test_name_and_reason_are_required(home, ledger):
    patch_id = a_round(home, ledger, rows=good())
    assert runner.invoke(app, ["approve", patch_id, "--by", "Ada"]).exit_code == 2
    assert runner.invoke(app, ["reject", patch_id, "--reason", "x"]).exit_code == 2
    assert ledger.records() == ()


def test_an_unknown_id_lists_the_known_ones(home, ledger):
    patch_id = a_round(home, ledger, rows=good())
    for wrong in ("p-zzz", ""):
        with pytest.raises(DecisionError, match=f"No patch begins with .*{patch_id}"):
            run("show", wrong)


def test_an_id_that_several_begin_with_lists_them(home, ledger):
    ids = [a_round(home, ledger), a_round(home, ledger, "round-0002", "temperature")]
    with pytest.raises(DecisionError, match="2 patches begin with 'p-'") as caught:
        run("show", "p-")
    assert all(patch_id in str(caught.value) for patch_id in ids)


def test_rounds_are_in_order_of_their_numbers(home, ledger):
    a_round(home, ledger, "round-10000", "temperature")
    a_round(home, ledger, "round-9999", "learning_rate")
    lines = [line for line in run("list").output.splitlines() if "round-" in line]
    assert ["round-9999" in line for line in lines] == [True, False]


def test_a_patch_that_two_rounds_propose_is_shown_once(home, ledger):
    patch_id = a_round(home, ledger, rows=flat())
    a_round(home, ledger, "round-0002", rows=good())
    lines = [line for line in run("list").output.splitlines() if patch_id in line]
    assert len(lines) == 1
    assert "round-0002" in lines[0]


def test_hostile_text_does_not_reach_the_terminal(home, ledger):
    patch_id = a_round(home, ledger, rows=good(), why="[red]x[/red] \x1b[2J cleared")
    for output in (run("show", patch_id).output, run("list").output):
        assert "\x1b[2J" not in output
    assert "[red]x[/red]" in run("show", patch_id).output


def test_a_torn_ledger_is_reported(home, ledger):
    patch_id = a_round(home, ledger, rows=good())
    run("approve", patch_id, "--by", "Ada", "--reason", "good")
    with ledger.path.open("ab") as stream:
        stream.write(b'{"torn')
    assert "never finished" in run("list").output


def test_a_patch_to_a_group_that_is_no_target_cannot_be_approved(home, ledger):
    patch = a_round(home, ledger, rows=good())
    bank = home / "skill_bank" / "bank.yaml"
    bank.write_text(bank.read_text().replace("optimization_target: true", "optimization_target: false"))
    with pytest.raises(SkillBankError, match=f"{patch}: group 'rllm' of rllm-config is not an optimisation"):
        run("approve", patch, "--by", "Ada", "--reason", "good", "--override")
    assert ledger.verdicts() == {}
    assert "is rejected by Ada" in run("reject", patch, "--by", "Ada", "--reason", "no target").output


def test_a_set_is_approved_in_part_and_the_rest_is_told(home, ledger):
    first = a_round(home, ledger, rows=good())
    second = a_round(home, ledger, "round-0002", "temperature", rows=good())
    output = run("approve", first, second, "--by", "Ada", "--reason", "both").output
    assert all(f"{patch} is approved by Ada" in output for patch in (first, second))
    assert {record.patch_id for record in ledger.records()} == {first, second}


def test_patches_of_one_section_are_a_conflict_and_not_approved_together(home, ledger):
    first = a_round(home, ledger, rows=good())
    second = a_round(home, ledger, "round-0002", "max_steps", rows=good())
    assert f"conflict: {first} and {second}: both edit optimisation of rllm-config" in run("list").output
    with pytest.raises(DecisionError, match=f"{first} and {second}: both edit optimisation"):
        run("approve", first, second, "--by", "Ada", "--reason", "both")
    assert ledger.records() == ()
    run("approve", first, "--by", "Ada", "--reason", "this one")
    with pytest.raises(DecisionError, match="They cannot all be approved"):
        run("approve", second, "--by", "Ada", "--reason", "that one, too")
    run("withdraw", first, "--by", "Ada", "--reason", "the other one")
    assert f"{second} is approved" in run("approve", second, "--by", "Ada", "--reason", "that one").output


def test_two_patches_of_a_section_are_merged_into_one_that_waits_for_a_round(home, ledger):
    sections = {
        ("rllm-config", "optimisation"): SkillBank.open(home / "skill_bank").section(
            "rllm-config", "optimisation"
        )
    }
    first = a_round(home, ledger, rows=good(), sections=sections)
    second = a_round(home, ledger, "round-0002", "max_steps", rows=good(), sections=sections)
    told = run("list").output
    assert f"their lines do not touch: agent-evo patches merge {first} {second} --by NAME" in told
    output = run("merge", second, first[:8], "--by", "Ada").output
    made = ledger.made()[0].patch_id
    assert f"{made} is made of " in output and "The next round judges it: agent-evo rounds run" in output
    for part in ("+learning_rate: {default: 0.0001", "+max_steps: {default: 50", "gate: not judged"):
        assert part in output
    assert "patches approve" not in output and f"patches reject {made}" in output
    (line,) = [line for line in run("list").output.splitlines() if made in line and "conflict" not in line]
    assert re.search(r"none yet.*not judged.*proposed", line)


def test_a_merge_of_touching_lines_shows_both_and_makes_nothing(home, ledger):
    sections = {
        ("rllm-config", "optimisation"): SkillBank.open(home / "skill_bank").section(
            "rllm-config", "optimisation"
        )
    }
    first = a_round(home, ledger, sections=sections)
    second = a_round(home, ledger, "round-0002", sections=sections, factor=2.0)
    with pytest.raises(MergeConflictError, match=r"default: 0\.0001(?s:.*)default: 4\.0e-5"):
        run("merge", *sorted((first, second)), "--by", "Ada")
    assert ledger.records() == ()


def test_withdraw_takes_an_approval_back_on_record(home, ledger):
    patch = a_round(home, ledger, rows=good())
    run("approve", patch, "--by", "Ada", "--reason", "good")
    output = run("withdraw", patch, "--by", "Bob", "--reason", "its section is another now").output
    assert f"{patch} is withdrawn by Bob" in output
    assert [record.decision for record in ledger.records()] == ["approve", "withdraw"]
    assert "archived" in run("list").output


def test_an_approval_that_cannot_be_carried_out_says_the_way_out(home, ledger):
    patch = a_round(home, ledger, rows=good())
    result = run("approve", patch, "--by", "Ada", "--reason", "good")
    assert "It cannot be adopted: optimisation of rllm-config was changed since it was made" in result.stderr
    assert f"agent-evo patches withdraw {patch} --by NAME --reason TEXT" in result.stderr


def test_where_two_people_decide_the_first_is_told_to_find_another(home, ledger, monkeypatch):
    monkeypatch.setenv("AGENT_EVO_POLICY", "two_person")
    patch = a_round(home, ledger, rows=good())
    output = run("approve", patch, "--by", "Ada", "--reason", "good").output
    assert f"Another person must approve {patch}, too." in output and "rounds run" not in output
    assert f"Still waiting in the same round: {patch}" in output
    assert "approved by Ada; another person must, too" in run("show", patch).output
    assert ledger.verdicts() == {}
    output = run("approve", patch, "--by", "Bob", "--reason", "me, too").output
    assert "agent-evo rounds run round-0001 --only adopt" in output
    assert ledger.decision(patch).by == "Bob"


def test_sync_carries_out_files_once_and_tells_what_it_could_not(home, ledger):
    patch = a_round(home, ledger, rows=good())
    folder = home / "skill_bank" / "approvals"
    folder.mkdir()
    (folder / "ada.yaml").write_text(f"by: Ada\nreason: seen\napprove: [{patch}]\n")
    (folder / "bob.yaml").write_text(f"by: Bob\nreason: not now\nreject: [{patch}]\n")
    (folder / "torn.yaml").write_text("by: [\n")
    result = run("sync")
    assert result.exit_code == 1
    assert f"{patch} is approved by Ada" in result.stdout
    assert "bob.yaml: " in result.stderr and "Ada decided 'approve'" in result.stderr
    assert "torn.yaml: It is no decision" in result.stderr
    (folder / "bob.yaml").unlink()
    (folder / "torn.yaml").unlink()
    again = run("sync")
    assert (again.exit_code, again.stdout) == (0, "Nothing new to decide.\n")
    assert len(ledger.records()) == 1


def test_sync_ends_the_wait_of_what_waited_too_long(home, ledger, monkeypatch):
    patch = a_round(home, ledger, rows=good())
    assert "Nothing new" in run("sync").output
    monkeypatch.setenv("AGENT_EVO_EXPIRY_DAYS", "7")
    assert f"{patch} is expired: nobody decided within 7 days of 2026-01-02" in run("sync").output
    assert ledger.decision(patch).by == "policy:expiry"
