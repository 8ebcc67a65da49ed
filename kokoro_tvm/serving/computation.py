"""Jobs of the scheduler for the result of a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kokoro_tvm.serving.jobs import SpeechJob

if TYPE_CHECKING:
    from kokoro_tvm.serving.scheduler import Scheduler


class Computation(SpeechJob):
    """Request for the result of a function, which takes turns as speech does."""

    _result: Any = None

    def __init__(self, scheduler: Scheduler, function: Callable[[], Any], priority: int) -> None:
        super().__init__(scheduler, function, priority)

    @property
    def urgency(self) -> tuple[int, float]:
        """Sort key: behind speech without audio so far, and in the order of arrival."""
        return -self._priority, self.arrived

    def before_reading(self, length: int) -> None:
        """Yield the turn before a part of the text is read."""
        self.yield_turn()

    async def result(self) -> Any:
        """Wait for the result; None if the job is cancelled. Raises what the function raises."""
        await self.begin()
        return self._result

    def _work(self) -> None:
        """Call the function, on the job's thread."""
        self._result = self._open_stream()
