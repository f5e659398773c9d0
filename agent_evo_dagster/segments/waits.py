"""What a stretch of work waits for: scheduled wake-ups and jobs in the background. Not what comes of them."""

from dataclasses import dataclass, field
from typing import Any, Final

from agent_evo_dagster.segments.names import ids_made
from agent_evo_dagster.segments.view import TrajectoryView

_NOTIFICATION: Final = "<task-notification>"  # how the client begins the prompt that a finished job causes
_TELLING: Final = frozenset(
    ["Bash", "CronCreate", "CronDelete", "KillShell", "Monitor", "ScheduleWakeup", "TaskOutput", "TaskStop"]
)


@dataclass(slots=True)
class Waits:
    """Wake-ups and jobs that are outstanding, from the calls seen so far."""

    prompts: set[str] = field(default_factory=set)  # that a wake-up or a schedule will send
    wake_ups: int = 0  # one-time wake-ups that have not come
    jobs: set[str] = field(default_factory=set)  # ids of jobs, monitors and schedules

    def take(self, view: TrajectoryView, position: int) -> None:
        """Note what a step starts or stops."""
        tool = view.tool_name[position]
        if tool not in _TELLING:
            return
        if tool in ("ScheduleWakeup", "CronCreate"):
            if isinstance(text := view.input_of(position).get("prompt"), str):
                self.prompts.add(text)
            self.wake_ups += tool == "ScheduleWakeup"
        if tool in ("Bash", "CronCreate", "Monitor"):
            self.jobs.update(ids_made(view, position))
        elif tool == "TaskOutput":
            self._reported(view.response_of(position).get("task"))
        elif tool in ("CronDelete", "TaskStop", "KillShell"):
            asked = view.input_of(position)
            self.jobs.difference_update(value for value in asked.values() if isinstance(value, str))

    def _reported(self, task: Any) -> None:
        if (
            isinstance(task, dict)
            and task.get("status") != "running"
            and isinstance(task.get("task_id"), str)
        ):
            self.jobs.discard(task["task_id"])

    def woken_by(self, text: str | None) -> bool:
        """Whether a prompt with this text is one that was waited for."""
        if text is None:
            return False
        unnamed = self.wake_ups > 0 and not self.prompts  # it was not said what the wake-up will send
        return text in self.prompts or unnamed or (bool(self.jobs) and is_notification(text))

    def outstanding(self) -> bool:
        """Whether anything may still come by itself."""
        return self.wake_ups > 0 or bool(self.jobs)

    def woken(self) -> None:
        """A turn has begun by itself."""
        self.wake_ups = 0


def is_notification(text: str | None) -> bool:
    """Whether the client, not a person, sent this prompt, because a job ended."""
    return text is not None and text.startswith(_NOTIFICATION)
