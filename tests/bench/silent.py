"""A listener that does nothing."""

from vnicaudit.bench.running.forecast import Ahead
from vnicaudit.model.measurement import Sample, Workload


class SilentListener:
    """Listens to nothing."""

    def prepares(self, text: str) -> None:
        """Nothing."""

    def runs(self, workload: Workload, arm: str, ahead: Ahead) -> None:
        """Nothing."""

    def sampled(self, sample: Sample) -> None:
        """Nothing."""

    def says(self, text: str) -> None:
        """Nothing."""
