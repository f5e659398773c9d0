"""Pipes messages of a worker that is a Ray job, read from its log by dagster-ray. No job is run here."""

import dagster as dg

from agent_evo_dagster.extras import require
from agent_evo_dagster.training.ray_worker import RayJob

FEATURE = "ray.submit: job"


def ray_messages() -> dg.PipesMessageReader:
    """A reader that begins when the session is told of the job.

    Raises:
        MissingExtraError: dagster-ray is not installed.
    """
    pipes = require("dagster_ray.core.pipes", extra="ray", feature=FEATURE)
    reader: dg.PipesMessageReader = pipes.PipesRayJobMessageReader()
    return reader


def launched(job: RayJob) -> dg.PipesLaunchedData:
    """What that reader has to know of a job."""
    pipes = require("dagster_ray.core.pipes", extra="ray", feature=FEATURE)
    address, job_id = pipes.PIPES_LAUNCHED_EXTRAS_RAY_ADDRESS_KEY, pipes.PIPES_LAUNCHED_EXTRAS_RAY_JOB_ID_KEY
    return {"extras": {address: job.address, job_id: job.job_id}}
