"""A worker that takes the place of Python in a test: it makes the files of a run without a model.

With AGENT_EVO_TEST_HANGS set it stops in the middle of training for good.
"""

import os
import sys
from pathlib import Path

from dagster_pipes import open_dagster_pipes

from agent_evo_dagster.training.orphan import exit_with_parent
from agent_evo_dagster.training.request import WorkerRequest
from tests.assets.fake_trainer import FakeTrainer

exit_with_parent()
request = WorkerRequest.model_validate_json(Path(sys.argv[-1]).read_bytes())
with open_dagster_pipes():
    trainer = FakeTrainer(slow="AGENT_EVO_TEST_HANGS" in os.environ)
    result = trainer._work(request, request.run_dir)
(request.run_dir / "result.json").write_text(result.model_dump_json())
