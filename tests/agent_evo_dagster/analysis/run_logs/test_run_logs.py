import json
import math
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent_evo_dagster.analysis.run_logs.registry import read_run_log
from agent_evo_dagster.analysis.run_logs.tensorboard import TensorBoard
from agent_evo_dagster.analysis.run_logs.verl_console import VerlConsole
from agent_evo_dagster.errors import AnalysisError, MissingExtraError

DATA = Path(__file__).parents[5] / "shared" / "data" / "agent_sessions" / "training_run"


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


def rows(log):
    return log.metrics.rows()


def write_events(path, *scalars):
    from tensorboardX.proto.event_pb2 import Event
    from tensorboardX.proto.summary_pb2 import Summary
    from tensorboardX.record_writer import RecordWriter

    writer = RecordWriter(str(path))
    for step, tag, value in scalars:
        summary = Summary(value=[Summary.Value(tag=tag, simple_value=value)])
        writer.write(Event(step=step, wall_time=0.0, summary=summary).SerializeToString())
    writer.close()


@pytest.mark.parametrize(
    ("name", "record", "source"),
    [
        ("metrics.jsonl", {"step": 1, "metrics": {"reward": 0.5}}, "agent-evo"),
        (
            "verl_metrics.jsonl",
            {"step": 1, "elapsed_seconds": 3, "data": {"reward": 0.5}},
            "verl file logger",
        ),
        ("trainer_state.json", {"log_history": [{"step": 1, "epoch": 0.1, "reward": 0.5}]}, "trl"),
    ],
)
def test_a_log_is_told_by_what_it_holds(tmp_path, name, record, source):
    (tmp_path / name).write_text(lines(record))
    read = read_run_log(tmp_path)
    assert (read.log.source, rows(read.log)) == (source, [(1, "reward", 0.5, True)])


def test_verls_console_lines_are_found_among_all_else(tmp_path):
    log = tmp_path / "training_log.txt"
    log.write_text(
        "+ export X=1\nwarning: step:9 - nothing\n"
        "\x1b[36m(Task pid=7)\x1b[0m step:1 - actor/entropy:0.25 "
        "- critic/score/mean:1e-3 - val:np.float64(2.5)\n"
        "\x1b[36m(Task pid=7)\x1b[0m step:2 - actor/entropy:nan - critic/score/mean:oops\n"
    )
    read = read_run_log(log).log
    assert rows(read) == [
        (1, "actor/entropy", 0.25, True),
        (1, "critic/score/mean", 0.001, True),
        (1, "val", 2.5, True),
        (2, "actor/entropy", None, False),
    ]
    assert read.broken == {"no number": 2}


def test_a_last_line_that_was_cut_off_loses_only_its_last_number(tmp_path):
    log = tmp_path / "x.log"
    log.write_text("step:1 - a/b:0.5 - c:0.123\nstep:2 - a/b:0.6 - c:0.1")
    read = VerlConsole().read(log)
    assert rows(read)[-1] == (2, "a/b", 0.6, True)
    assert read.broken == {"cut off": 1}


def test_values_that_are_no_numbers_and_steps_that_go_back_are_counted(tmp_path):
    (tmp_path / "m.jsonl").write_text(
        '{"step": 1, "data": {"loss": NaN, "name": "x", "huge": 1e999, "on": true}}\n'
        '{"step": 2, "data": {"loss": 0.5}}\n'
        '{"step": 1, "data": {"loss": 0.4}}\n'
        '{"step": "no", "data": {}}\n'
        "[1, 2]\n"
        '{"step": 3, "data": {"lo'
    )
    read = read_run_log(tmp_path).log
    assert rows(read) == [
        (1, "loss", None, False),
        (1, "huge", None, False),
        (2, "loss", 0.5, True),
        (1, "loss", 0.4, True),
    ]
    assert (read.restarts, read.broken) == (1, {"cut off": 1, "no JSON object": 1, "no step": 1})


def test_event_files_of_tensorboard_are_read_and_several_are_one_run(tmp_path):
    write_events(tmp_path / "events.out.tfevents.1.host", (1, "reward", 0.5), (2, "reward", math.nan))
    write_events(tmp_path / "events.out.tfevents.2.host", (2, "reward", 0.25))
    read = read_run_log(tmp_path)
    assert rows(read.log) == [(1, "reward", 0.5, True), (2, "reward", None, False), (2, "reward", 0.25, True)]
    assert read.log.restarts == 1
    assert len(read.files) == 2


def test_the_newer_form_of_scalars_is_read_and_other_summaries_are_passed_over(tmp_path):
    import struct

    from tensorboardX.proto.event_pb2 import Event
    from tensorboardX.proto.summary_pb2 import Summary
    from tensorboardX.proto.tensor_pb2 import TensorProto
    from tensorboardX.record_writer import RecordWriter

    values = [
        Summary.Value(tag="a", tensor=TensorProto(dtype=1, float_val=[0.5])),
        Summary.Value(tag="b", tensor=TensorProto(dtype=1, tensor_content=struct.pack("<f", 0.25))),
        Summary.Value(tag="c", tensor=TensorProto(dtype=2, tensor_content=struct.pack("<d", 0.125))),
        Summary.Value(tag="text", tensor=TensorProto(dtype=7, string_val=[b"hello"])),
    ]
    writer = RecordWriter(str(tmp_path / "events.tfevents"))
    writer.write(Event(file_version="brain.Event:2").SerializeToString())
    writer.write(Event(step=3, summary=Summary(value=values)).SerializeToString())
    writer.close()
    read = TensorBoard().read(tmp_path / "events.tfevents")
    assert rows(read) == [(3, "a", 0.5, True), (3, "b", 0.25, True), (3, "c", 0.125, True)]


@settings(max_examples=40, deadline=None)
@given(cut=st.integers(0, 220), flip=st.integers(0, 220))
@example(cut=175, flip=200)  # ends where a frame ends: nothing is missing that could be told
def test_a_damaged_event_file_gives_what_stands_before_the_damage(tmp_path_factory, cut, flip):
    path = tmp_path_factory.mktemp("tb") / "x.tfevents"
    expected = [(step, "reward", float(step), True) for step in range(6)]
    ends = []  # of the first frames, which differ in length
    for count in range(len(expected) + 1):
        write_events(path, *(row[:3] for row in expected[:count]))
        ends.append(path.stat().st_size)
    data = bytearray(path.read_bytes()[: max(0, ends[-1] - cut)])
    flipped = flip < len(data)
    if flipped:
        data[flip] ^= 0xFF
    path.write_bytes(bytes(data))
    read = TensorBoard().read(path)
    undamaged = flip if flipped else len(data)
    assert rows(read) == expected[: sum(end <= undamaged for end in ends[1:])]
    assert bool(read.broken) == (flipped or len(data) not in ends)


def test_reading_tensorboard_without_its_package_names_the_line_that_installs_it(tmp_path, monkeypatch):
    (tmp_path / "x.tfevents").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    monkeypatch.setitem(sys.modules, "tensorboardX.proto.event_pb2", None)
    with pytest.raises(MissingExtraError, match=r"agent-evo-dagster\[tensorboard\]"):
        read_run_log(tmp_path)


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({}, "holds no log"),
        ({"notes.txt": "hello"}, "holds no log"),
        ({"a.jsonl": lines({"step": "x", "data": {"a": 1}})}, "without a single step"),
        ({"trainer_state.json": '{"log_history": ['}, "cannot be read"),
        ({"trainer_state.json": "{}"}, "cannot be read"),
    ],
)
def test_what_cannot_be_read_is_said_with_what_was_looked_for(tmp_path, files, told):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(AnalysisError, match=told):
        read_run_log(tmp_path)


def test_nothing_at_the_path_is_an_error(tmp_path):
    with pytest.raises(AnalysisError, match="nothing at"):
        read_run_log(tmp_path / "none")


def test_of_several_checkpoints_the_last_state_of_the_shallowest_folder_is_read(tmp_path):
    for name, steps in {"checkpoint-1": 1, "checkpoint-2": 2}.items():
        (tmp_path / name).mkdir()
        history = [{"step": step, "loss": 0.1} for step in range(1, steps + 1)]
        (tmp_path / name / "trainer_state.json").write_text(json.dumps({"log_history": history}))
    assert read_run_log(tmp_path).log.metrics.height == 2


@settings(max_examples=80, deadline=None)
@given(text=st.text(max_size=300), name=st.sampled_from(["a.jsonl", "a.txt", "a.log"]))
def test_no_text_breaks_a_reader(tmp_path_factory, text, name):
    path = tmp_path_factory.mktemp("any") / name
    path.write_text(f"step:1 - a/b:1\n{text}\nstep:2 - {text}", encoding="utf-8", errors="replace")
    assert read_run_log(path).log.metrics["step"][0] == 1


def test_the_real_run_is_read_whole():
    if not DATA.is_dir():
        pytest.skip(f"the recorded training run is not here: {DATA}")
    read = read_run_log(DATA)
    reward = read.log.metrics.filter(name="critic/score/mean")
    assert (read.log.source, read.log.broken, read.log.restarts) == ("verl console", {}, 0)
    assert reward["step"].to_list() == list(range(1, 49))
    assert "EngineCore died" in read.tail
