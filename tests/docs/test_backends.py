"""The tables of docs/backends.md against the code that they tell of.

After a wanted change: `python -m tests.docs.test_backends` writes them again.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from pydantic import BaseModel

from agent_evo_dagster.training.ascend import listed
from agent_evo_dagster.training.backends.capabilities import capability_table
from agent_evo_dagster.training.deployment import Deployment

PAGE = Path(__file__).parents[2] / "docs/backends.md"
BLOCK = re.compile(r"(<!-- table: (\w+) -->\n)(.*?)(<!-- end -->\n)", re.DOTALL)
EXAMPLE = re.compile(r"```yaml\n# deployment\.yaml.*?\n(.*?)```", re.DOTALL)


def tables() -> dict[str, str]:
    return {
        "capabilities": capability_table(),
        "deployment": "".join(deployment_rows()),
        "ascend": "".join(ascend_rows()),
    }


def deployment_rows() -> Iterator[str]:
    yield "| field | default | meaning |\n|---|---|---|\n"
    for name, field in Deployment.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            for key, part in inner.model_fields.items():
                yield row(f"{name}.{key}", part.default, part.description or "see below")
        else:
            yield row(name, field.default, field.description or "")


def row(name: str, default: object, meaning: str) -> str:
    shown = "" if default in (None, {}, ()) else f"`{default}`"
    return f"| `{name}` | {shown} | {meaning} |\n".replace("<", "&lt;")


def ascend_rows() -> Iterator[str]:
    yield "| vllm-ascend | vllm | Python | CANN | torch | torch-npu | said by |\n" + "|---" * 7 + "|\n"
    for number, each in enumerate(listed(), start=1):
        stack = each.stack
        cells = [stack.vllm_ascend, stack.vllm, stack.python, stack.cann, stack.torch, stack.torch_npu]
        yield f"| {' | '.join(cells)} | [{number}]({each.source}) |\n"


def written(page: str) -> str:
    known = tables()
    return BLOCK.sub(lambda found: found.group(1) + known[found.group(2)] + found.group(4), page)


def test_the_tables_are_those_of_the_code():
    page = PAGE.read_text("utf-8")
    assert {found.group(2) for found in BLOCK.finditer(page)} == tables().keys()
    assert page == written(page)


@pytest.mark.parametrize("text", EXAMPLE.findall(PAGE.read_text("utf-8")))
def test_every_example_of_a_deployment_can_be_used(text):
    assert Deployment.model_validate(yaml.safe_load(text)) != Deployment()


def test_there_are_examples():
    assert len(EXAMPLE.findall(PAGE.read_text("utf-8"))) >= 3


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")
