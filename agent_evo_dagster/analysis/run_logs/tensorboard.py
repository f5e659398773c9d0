"""TensorBoard event files, read without TensorFlow: their scalars. Nothing else that they hold.

A file is a sequence of frames: length, checksum of the length, an Event message, checksum of that. The
messages are those of the package tensorboardX.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from agent_evo_dagster.analysis.run_logs.types import LogBook, MetricLog
from agent_evo_dagster.extras import require

_FEATURE = "Reading TensorBoard files"
_MODULES = ("tensorboardX.proto.event_pb2", "tensorboardX.crc32c", "google.protobuf.message")
_MAX_EVENT = 64 << 20
_HEADER = struct.Struct("<QI")
_CHECK = struct.Struct("<I")
_MASK = 0xA282EAD8
_FLOAT, _DOUBLE = 1, 2  # DataType of a tensor


@dataclass(frozen=True, slots=True)
class TensorBoard:
    """An event file; of several in a folder, each is one start of the run."""

    name: str = "tensorboard"

    def recognises(self, path: Path) -> bool:
        """By its name, which every writer fixes."""
        return "tfevents" in path.name

    def read(self, path: Path) -> MetricLog:
        """The scalars of the file, up to a frame that is damaged: what follows one cannot be read.

        Raises:
            MissingExtraError: tensorboardX is not installed.
        """
        protos, checks, messages = (require(name, extra="tensorboard", feature=_FEATURE) for name in _MODULES)
        book = LogBook()
        for message in _messages(path, checks, book):
            try:
                event = protos.Event.FromString(message)
            except messages.DecodeError:
                book.broken["no event"] += 1
                continue
            if event.HasField("summary") and (step := book.step(event.step)) is not None:
                for value in event.summary.value:
                    scalar = _scalar(value)
                    if scalar is not None:
                        book.value(step, value.tag, scalar)
        return book.log(self.name)


def _messages(path: Path, checks: ModuleType, book: LogBook) -> Iterator[bytes]:
    with path.open("rb") as stream:
        while header := stream.read(_HEADER.size):
            if len(header) < _HEADER.size:
                book.broken["cut off"] += 1
                return
            length, length_check = _HEADER.unpack(header)
            if _masked(checks.crc32c(header[:8])) != length_check or length > _MAX_EVENT:
                book.broken["damaged frame"] += 1
                return
            body = stream.read(length + _CHECK.size)
            if len(body) < length + _CHECK.size:
                book.broken["cut off"] += 1
                return
            message, check = body[:length], _CHECK.unpack(body[length:])[0]
            if _masked(checks.crc32c(message)) != check:
                book.broken["damaged frame"] += 1
                return
            yield message


def _masked(crc: int) -> int:
    """The checksum as the format stores it: rotated right by 15 bits, plus a constant."""
    return ((crc >> 15 | crc << 17) + _MASK) & 0xFFFFFFFF


def _scalar(value: Any) -> float | None:
    """The number that a summary's value holds, in the older or the newer form; None for anything else."""
    kind = value.WhichOneof("value")
    if kind == "simple_value":
        return float(value.simple_value)
    if kind != "tensor" or value.tensor.tensor_shape.dim:
        return None
    tensor = value.tensor
    if tensor.dtype == _FLOAT and tensor.float_val:
        return float(tensor.float_val[0])
    if tensor.dtype == _DOUBLE and tensor.double_val:
        return float(tensor.double_val[0])
    form = {_FLOAT: "<f", _DOUBLE: "<d"}.get(tensor.dtype)
    content = tensor.tensor_content
    if form is None or len(content) != struct.calcsize(form):
        return None
    return float(struct.unpack(form, content)[0])
