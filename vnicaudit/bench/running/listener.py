"""The interface for reporting the progress of a measurement."""

from __future__ import annotations

from typing import Protocol

from vnicaudit.bench.running.forecast import Ahead
from vnicaudit.model.measurement import Sample, Workload


class Listener(Protocol):
    """Is told the progress; whatever it does, it must not load the machine."""

    def prepares(self, text: str) -> None:
        """Work before or after a run starts: ``warming up``."""

    def begins(self, ahead: Ahead) -> None:
        """A stretch of runs begins."""

    def runs(self, workload: Workload, arm: str, ahead: Ahead) -> None:
        """A run begins."""

    def sampled(self, sample: Sample) -> None:
        """A run has ended."""

    def says(self, text: str) -> None:
        """Anything else worth knowing."""
