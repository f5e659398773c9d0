"""What happens after each step of TRL's: it is told, judged by the breaker, and its state made to count."""

from typing import Any

from agent_evo_dagster.training.backends.grpo_rollouts import RolloutFunction
from agent_evo_dagster.training.breaker import tripped
from agent_evo_dagster.training.config import TrainingConfig
from agent_evo_dagster.training.metrics import CLOCKED, finite
from agent_evo_dagster.training.reporting import Monitor
from agent_evo_dagster.training.states import State, States


class StepCallback:
    """Follows one training; `reason` says why it was stopped before its last step."""

    def __init__(
        self,
        rollout_function: RolloutFunction,
        monitor: Monitor,
        config: TrainingConfig,
        states: States | None,
        start: State | None = None,
    ) -> None:
        self._rollouts = rollout_function
        self._monitor = monitor
        self._config = config
        self._states = states
        self._steps = list(start.steps) if start else []
        self.reason: str | None = None

    def logged(self, step: int, logs: dict[str, Any]) -> bool:
        """A step is done; returns whether the training must stop."""
        values = finite({**logs, **self._rollouts.latest})
        clocked = {name: values.pop(name) for name in CLOCKED & values.keys()}
        timings = {**clocked, **self._rollouts.timings}
        self._monitor.step(step, values, timings)
        self._steps.append({**values, **timings})
        if step < self._config.max_steps and (reason := tripped(self._config, self._steps)):
            self.reason = f"step {step}: {reason}"
        return self.reason is not None

    def saved(self, step: int) -> None:
        """The trainer wrote its state after `step`."""
        if self._states:
            self._states.complete(step, self._rollouts.rollouts())

    def for_trainer(self) -> Any:
        """This callback as transformers wants it."""
        from transformers import TrainerCallback

        outer = self

        class Adapter(TrainerCallback):  # type: ignore[misc]  # transformers is not typed
            def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any], **_: Any) -> None:
                del args
                if "loss" in logs:  # not the summary at the end of the training
                    control.should_training_stop |= outer.logged(int(state.global_step), logs)

            def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
                del args, control
                outer.saved(int(state.global_step))

        return Adapter()
