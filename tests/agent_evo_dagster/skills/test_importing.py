"""SKILL.md files become a bank that compiles to the same bytes, or an error with file and line."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from skills_ref.validator import validate as reference

from agent_evo_dagster.errors import SkillBankError
from agent_evo_dagster.patches.fences import marker_of, scan
from agent_evo_dagster.patches.hidden import first_hidden
from agent_evo_dagster.skills.adopt import adopt
from agent_evo_dagster.skills.bank import SkillBank
from agent_evo_dagster.skills.compile import compile_skill
from agent_evo_dagster.skills.importing import import_bank, read_skills
from agent_evo_dagster.skills.rollback import Rollback, roll_back_skill
from agent_evo_dagster.skills.validation import validate
from agent_evo_dagster.skills.writing import write_skills
from tests.agent_evo_dagster.skills.banks import NOW, patch

HEAD = '---\nname: one\ndescription: "Says one."\n---\n'


def skill(project: Path, text: str | bytes, name: str = "one") -> Path:
    """A SKILL.md in a project, with a file beside it."""
    path = project / ".claude" / "skills" / name / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    (path.parent / "helper.py").write_text("print(1)\n")
    return path


def imported(project: Path, group: str = "project") -> SkillBank:
    """The bank of all skills of a project."""
    skills = read_skills(project, project / ".claude" / "skills")
    return import_bank(project / "bank", skills, group=group)


SAMPLES = {
    "plain": HEAD + "\n# One\n\nDo it.\n\n## First\n\nThis.\n\n## Second\n\nThat.\n",
    "no newline at the end": HEAD + "# One\n\n## First\nThis.",
    "windows": (HEAD + "# One\n\n## First\nThis.\n\n## Second\nThat.").replace("\n", "\r\n"),
    "a fence at the very end": HEAD + "## First\n```sh\n# no heading\nls\n```",
    "a fence that never closes": HEAD + "## First\nx\n\n## Second\n```\n# code\n<!-- section:x -->\n",
    "markers and headings in code": HEAD + "## First\n~~~md\n<!-- section:x -->\n## Not one\n~~~\nend\n",
    "unicode": '---\nname: one\ndescription: "训练: 体 ✨"\n---\n# 标题\n\n## 第一\n内容\n\n## Été\nx\n',
    "other fields": (
        "---\n# ours\nname: one   # the folder\nallowed-tools: [Read, 'Bash(ls:*)']\nversion: 1.10\n"
        "metadata:\n  a: yes\ndescription: plain words\n---\nText.\n"
    ),
    "folded": "---\nname: one\ndescription: >-\n  Over: two\n  lines\n---\n\nText.\n",
    "literal": "---\nname: one\ndescription: |\n  Kept\n  as lines\nmodel: x\n---\n## A\n\n### B\nText.\n",
    "over lines": "---\nname: one\ndescription: plain text\n  that goes on\n---\n\nText.\n",
    "empty body": HEAD,
    "front matter to the end of the file": HEAD.rstrip("\n"),
    "blank lines only": HEAD + "\n\n  \n",
    "twice the same heading": HEAD + "## Use\na\n## Use\nb\n## Use #\nc\n",
    "levels that jump": HEAD + "### Deep\na\n# Top\nb\n## Mid\nc\n",
    "settings": HEAD
    + "## S\n```yaml\n# agent-evo:settings\n"
    + 'learning_rate: {default: 2.0e-5, min: 1.0e-6, max: 2.0e-3, why: "small"}\n```\n',
}


@pytest.mark.parametrize("text", SAMPLES.values(), ids=SAMPLES.keys())
def test_the_first_compilation_gives_back_the_same_bytes(tmp_path: Path, text: str) -> None:
    path = skill(tmp_path, text)
    bank = imported(tmp_path)
    assert compile_skill(bank, "one").text == text
    assert write_skills(bank, ["one"]).written == ()
    assert path.read_bytes() == text.encode()
    assert (path.parent / "helper.py").read_text() == "print(1)\n"
    assert validate(bank).problems == {}


_WORDS = st.text(st.characters(exclude_categories=("Cs", "Cc", "Co", "Cn")), max_size=12)
_LINES = st.one_of(
    _WORDS,
    st.builds(lambda marks, words: f"{marks} {words}", st.sampled_from(["#", "##", "###", " ##"]), _WORDS),
    st.sampled_from(["", "  ", "```", "```sh", "~~~", "````", "  ```", "    # code", "---", "> ## x"]),
    st.sampled_from(["<!-- section:a -->", "<!-- /section:a -->", "##", "# ##", "\ttab", "<!--", "-->"]),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(
    st.lists(_LINES, max_size=14),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.sampled_from(["d", '"d: e"', ">-\n  d\n  e", "|\n  d", "'it''s'"]),
)
def test_whatever_markdown_is_taken_compiles_to_itself(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], end: str, whole: bool, description: str
) -> None:
    body = "\n".join(lines) + ("\n" if whole else "")
    text = f"---\nname: one\ndescription: {description}\n---\n{body}".replace("\n", end)
    project = tmp_path_factory.mktemp("project")
    skill(project, text)
    refused = first_hidden(text) or any(marker_of(line) for line in scan(body.replace("\n", end)))
    if refused:
        with pytest.raises(SkillBankError, match=r"SKILL\.md, line \d+"):
            imported(project)
        assert sorted(path.name for path in project.iterdir()) == [".claude"]
        return
    assert compile_skill(imported(project), "one").text == text


def test_sections_are_those_of_the_headings(tmp_path: Path) -> None:
    skill(tmp_path, SAMPLES["plain"])
    assert imported(tmp_path).sections("one") == {
        "introduction": "Do it.\n",
        "first": "## First\n\nThis.\n",
        "second": "## Second\n\nThat.\n",
    }


@pytest.mark.parametrize(
    ("sample", "names"),
    [
        ("unicode", ["section-1", "ete"]),
        ("twice the same heading", ["use", "use-2", "use-3"]),
        ("levels that jump", ["introduction", "top"]),
        ("other fields", ["instructions"]),
        ("empty body", []),
        ("no newline at the end", ["first"]),
        ("a fence that never closes", ["first", "second"]),
        ("markers and headings in code", ["first"]),
    ],
)
def test_names_of_sections(tmp_path: Path, sample: str, names: list[str]) -> None:
    skill(tmp_path, SAMPLES[sample])
    (found,) = read_skills(tmp_path, tmp_path / ".claude" / "skills")
    assert list(found.sections) == names


def test_a_patch_and_its_rollback_begin_from_what_was_imported(tmp_path: Path) -> None:
    text = SAMPLES["no newline at the end"]
    path = skill(tmp_path, text)
    bank = imported(tmp_path, group="rllm")
    adopt(bank, [patch("## First\nThis.\n", "And that.\n", skill="one", section="first")])
    assert path.read_text() == text + "\n\nAnd that."
    roll_back_skill(bank, "one", "1", Rollback("Ada", "back", NOW, dry_run=False))
    assert path.read_text() == text


def test_a_description_becomes_one_line_where_a_person_asks_for_it(tmp_path: Path) -> None:
    path = skill(tmp_path, SAMPLES["folded"])
    bank = imported(tmp_path)
    assert "over several lines" in validate(bank).warnings["one"][0]
    manifest = bank.path / "project" / "one" / "manifest.yaml"
    manifest.write_text("".join(manifest.read_text().splitlines(keepends=True)[:2]))
    write_skills(bank, ["one"])
    assert 'description: "Over: two lines"\n' in path.read_text()
    assert reference(path.parent) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# One\n", r"\.claude/skills/one/SKILL\.md, line 1: no front matter"),
        (b"---\nname: one\ndescription: d\n---\n\xff\n", "line 5: not UTF-8"),
        ("\ufeff" + HEAD, r"line 1, column 1: U\+FEFF"),
        (HEAD + "a\u200bb\n", r"line 5, column 2: U\+200B"),
        ("---\nname: one\ndescription: a: b\n---\n", "line 3: not valid YAML"),
        ("---\nname: one\ndescription: a\nname: one\n---\n", "line 4: .*given twice"),
        ("---\nname: two\ndescription: a\n---\n", "line 2: `name` is 'two'"),
        ("---\nname: one\n---\n", "line 1: `description` is missing"),
        (f"---\nname: one\nx: y\ndescription: {'d' * 1025}\n---\n", "line 4: .*1025 characters"),
        (HEAD + "x\n\n<!-- section:a -->\n", "line 7: '<!-- section:a -->' is a section marker"),
        (HEAD + "<!-- Section: A -->\n", "line 5: .*is a section marker"),
    ],
)
def test_what_cannot_be_taken_is_told_with_file_and_line(
    tmp_path: Path, text: str | bytes, message: str
) -> None:
    skill(tmp_path, text)
    skill(tmp_path, HEAD.replace("one", "fine"), "fine")
    with pytest.raises(SkillBankError, match=rf"1 of 2 skills in .*nothing was written\.\n(?s:.*){message}"):
        imported(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".claude"]


def test_all_problems_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    skill(tmp_path, "---\nname: no\n---\n\u200b\n")
    skill(tmp_path, "none\n", "two")
    with pytest.raises(SkillBankError) as refused:
        imported(tmp_path)
    lines = str(refused.value).splitlines()
    assert [line.split(",")[0].strip() for line in lines[1:]] == [
        ".claude/skills/one/SKILL.md",
        ".claude/skills/one/SKILL.md",
        ".claude/skills/one/SKILL.md",
        ".claude/skills/two/SKILL.md",
    ]


def test_a_setting_that_two_imported_sections_give_leaves_nothing_behind(tmp_path: Path) -> None:
    block = SAMPLES["settings"].removeprefix(HEAD)
    skill(tmp_path, HEAD + block + block)
    with pytest.raises(SkillBankError, match="given in two sections"):
        imported(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".claude"]


def test_a_linked_skill_is_refused(tmp_path: Path) -> None:
    outside = skill(tmp_path / "other", HEAD)
    project = tmp_path / "project"
    (project / ".claude" / "skills").mkdir(parents=True)
    (project / ".claude" / "skills" / "one").symlink_to(outside.parent)
    with pytest.raises(SkillBankError, match="copy its folder into the project"):
        imported(project)


def test_skills_are_left_out_by_name(tmp_path: Path) -> None:
    skill(tmp_path, "broken")
    skill(tmp_path, HEAD.replace("one", "two"), "two")
    folder = tmp_path / ".claude" / "skills"
    assert [found.name for found in read_skills(tmp_path, folder, leave_out=["one"])] == ["two"]
    with pytest.raises(SkillBankError, match=r"three asked for in .*it has: one, two"):
        read_skills(tmp_path, folder, leave_out=["three"])
    with pytest.raises(SkillBankError, match="every skill"):
        read_skills(tmp_path, folder, leave_out=["one", "two"])
    with pytest.raises(SkillBankError, match=r"it has: no folder with a SKILL\.md"):
        read_skills(tmp_path, tmp_path)


def test_names_that_yaml_would_read_as_something_else_stay_names(tmp_path: Path) -> None:
    for name in ("on", "1e3", "0x1f"):
        skill(tmp_path, HEAD.replace("name: one", f'name: "{name}"'), name)
    assert [ref.name for ref in imported(tmp_path).skills()] == ["0x1f", "1e3", "on"]
