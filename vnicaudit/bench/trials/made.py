"""The trials of a run of ``apply``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from vnicaudit.bench.history import Kept
from vnicaudit.bench.trials.order import TrialOrder
from vnicaudit.bench.trials.single_flip import SingleFlip
from vnicaudit.remedy.hypervisor import Hypervisor


class TrialsMade:
    """Makes one for each guest (:data:`vnicaudit.remedy.trial.Trials`), and knows what they
    measured."""

    def __init__(self, order: TrialOrder) -> None:
        self._order = order
        self._made: list[SingleFlip] = []

    def __call__(
        self, folder: Path, key: str, host: Hypervisor, uuid: str, macs: tuple[str, ...]
    ) -> SingleFlip:
        trial = SingleFlip(self._order, folder, key, host, uuid, macs)
        self._made.append(trial)
        return trial

    def kept(self) -> Iterator[Kept]:
        """What was measured, in order."""
        for trial in self._made:
            yield from trial.kept()
