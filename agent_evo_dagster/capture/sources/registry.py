"""All sources of events, in the order in which a file is offered to them. No source itself."""

from agent_evo_dagster.capture.sources.atif import AtifDocuments
from agent_evo_dagster.capture.sources.hook_records import HookRecords
from agent_evo_dagster.capture.sources.legacy import LegacyEvents
from agent_evo_dagster.capture.sources.protocol import EventSource
from agent_evo_dagster.capture.sources.transcripts import Transcripts


def sources() -> list[EventSource]:
    """One of each."""
    return [HookRecords(), LegacyEvents(), Transcripts(), AtifDocuments()]
