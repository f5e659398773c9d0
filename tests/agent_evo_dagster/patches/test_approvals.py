"""A decision in a file of the bank is read strictly, and one bad file hides no other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_evo_dagster.errors import DecisionError
from agent_evo_dagster.patches.approvals import MAX_FILE, DecisionRequest, parse_approval, read_approvals

ID, OTHER = "p-" + "1" * 16, "p-" + "2" * 16
GOOD = f"by: Ada\nreason: seen\napprove: [{ID}]\nreject:\n  - {OTHER}\n"


def put(bank, name, text):
    folder = bank / "approvals"
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder / name


def test_a_file_names_who_decides_what_and_why(tmp_path):
    put(tmp_path, "ada.yaml", GOOD)
    put(tmp_path, "README.md", "How we do it.\n")
    (file,) = read_approvals(tmp_path)
    assert (file.name, file.problem) == ("ada.yaml", None)
    assert (file.request.by, file.request.reason) == ("Ada", "seen")
    assert file.request.named() == [("approve", ID), ("reject", OTHER)]


def test_a_bank_without_files_decides_nothing(tmp_path):
    assert read_approvals(tmp_path) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("by: Ada\nreason: x\n", "none is"),
        (f"by: Ada\nreason: x\napprove: [{ID[:9]}]\n", "are no ids"),
        (f"by: Ada\nreason: x\napprove: [{ID}]\nreject: [{ID}]\n", "in two lists"),
        (f"reason: x\napprove: [{ID}]\n", "by: Field required"),
        (f"by: 7\nreason: x\napprove: [{ID}]\n", "by: Input should be a valid string"),
        (f"by: Ada\nreason: x\napprove: {ID}\n", "approve: Input should be a valid list"),
        (f"by: Ada\nreason: x\napprove: [{ID}]\npolicy: auto\n", "policy: Extra inputs"),
        (f"by: Ada\nreason: x\noverride: yes please\napprove: [{ID}]\n", "override"),
        ("!!python/object/apply:os.system ['true']\n", "not valid YAML"),
        ("[" * 5000, "nested deeper"),
        (f"by: Ada\nreason: no\nreject: [{ID}]\n", "reason: Input should be a valid string"),  # YAML's false
        ("- by: Ada\n", "no decision"),
        ("by: !!timestamp abc\n", "not valid YAML"),
        (f"by: Ada\nreason: x\nreject: [{ID}]\napprove: [{ID}]\nreject: []\n", "'reject' is given twice"),
        ("", "no decision"),
    ],
)
def test_a_file_that_says_anything_else_is_refused_with_what_is_expected(text, said):
    with pytest.raises(DecisionError, match=r"patch ids|by its whole id") as caught:
        parse_approval(text)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("big.yaml", "#" * (MAX_FILE + 1), "more than"),
        ("bytes.yaml", b"\xff\xfe", "not UTF-8"),
        ("b ad.yaml", GOOD, "other characters"),
    ],
)
def test_one_bad_file_hides_no_other(tmp_path, name, content, said):
    put(tmp_path, "ada.yaml", GOOD)
    put(tmp_path, name, content)
    found = {file.name: file for file in read_approvals(tmp_path)}
    assert said in found[name].problem and found[name].request is None
    assert found["ada.yaml"].request is not None


def test_links_are_not_followed(tmp_path):
    outside = tmp_path / "outside.yaml"
    outside.write_text(GOOD)
    bank = tmp_path / "bank"
    put(bank_made(bank), "ada.yaml", GOOD)
    (bank / "approvals" / "link.yaml").symlink_to(outside)
    problems = {file.name: file.problem for file in read_approvals(bank)}
    assert problems["ada.yaml"] is None and "no regular file" in problems["link.yaml"]
    elsewhere = bank_made(tmp_path / "other")
    (elsewhere / "approvals").symlink_to(bank / "approvals")
    assert read_approvals(elsewhere) == []


def bank_made(path):
    path.mkdir()
    return path


@given(st.text(max_size=300) | st.binary(max_size=100).map(lambda data: data.decode("latin-1")))
def test_any_text_is_a_decision_or_is_refused(text):
    try:
        assert isinstance(parse_approval(text), DecisionRequest)
    except DecisionError as error:
        assert str(error)
