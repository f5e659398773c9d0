"""What a skill's text prescribes, read from its Markdown."""

from hypothesis import example, given
from hypothesis import strategies as st

from agent_evo_dagster.analysis.detectors.skill_followed import prescribed
from tests.agent_evo_dagster.analysis.session_builders import bash, find


def heads(text):
    return [one.head for one in prescribed({("s", "a"): text})]


def test_shell_blocks_prescribe_and_other_blocks_and_prose_do_not():
    text = "Run `make x`.\n\n```sh\n$ make all   # builds\n# only a comment\n```\n\n```python\nmake()\n```\n"
    assert heads(text) == ["make all"]


def test_a_command_in_two_sections_is_prescribed_once_by_the_first():
    skills = {("s", "a"): "```bash\nmake all\n```\n", ("s", "b"): "```bash\nmake all -j\n```\n"}
    assert [(one.section, one.head) for one in prescribed(skills)] == [("a", "make all")]


def test_lines_that_go_on_and_chains_are_cut_into_their_programs():
    assert heads("```console\ncd x && make all | tee log\n```\n") == ["cd x", "make all", "tee log"]


@example("'")
@given(st.text(max_size=400))
def test_no_text_of_a_skill_breaks_the_rules_that_read_it(text):
    calls = [bash(f"sleep 60 && tail -{n} run.log") for n in range(3)]
    skills = {("rllm-run", "a"): f"```sh\n{text}\n```", ("rllm-run", "b"): text, ("other", "c"): text}
    frame = find(calls, skills=skills)
    assert set(frame["target_section"].drop_nulls()) <= {"a", "b"}
    assert frame.equals(find(calls, skills=skills))
