"""Who is told how a measurement goes on."""

from __future__ import annotations

from typing import Protocol

from vnicaudit.model.measurement import Sample, Workload


class Listener(Protocol):
    """Is told; whatever it does, it must not load the machine."""

    def begins(self, seconds: float) -> None:
        """A stretch of runs begins, and is expected to take so long."""

    def runs(self, workload: Workload, arm: str, left: float) -> None:
        """A run begins; ``left``: seconds until the end of the stretch, as far as can be told."""

    def sampled(self, sample: Sample) -> None:
        """It has ended."""

    def says(self, text: str) -> None:
        """Something else to know."""


class Nobody:
    """Listens to nothing."""

    def begins(self, seconds: float) -> None:
        """Nothing."""

    def runs(self, workload: Workload, arm: str, left: float) -> None:
        """Nothing."""

    def sampled(self, sample: Sample) -> None:
        """Nothing."""

    def says(self, text: str) -> None:
        """Nothing."""
