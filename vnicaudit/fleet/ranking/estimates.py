"""Expected gains, from measurements of the same change if there are any."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from statistics import median

from vnicaudit.fleet.ranking.candidates import Candidate
from vnicaudit.model.ranking import GainEstimate, MeasuredGain

_MODEL = "model"


class Estimates:
    """Measured gains by NIC model before and after. Changes of other fields have none: a
    measurement records the NIC's description, but not which of its settings made the difference."""

    def __init__(self, gains: Iterable[MeasuredGain]) -> None:
        self._gains: dict[tuple[str, str], list[MeasuredGain]] = defaultdict(list)
        for gain in gains:
            self._gains[_model(gain.before_nic), _model(gain.after_nic)].append(gain)

    def of(self, candidate: Candidate) -> GainEstimate | None:
        """The gain of a candidate whose NICs all have the same model before; None: not measured."""
        change = candidate.key.change
        if change.field != _MODEL or change.removes or len(candidate.before) != 1:
            return None
        return self.between(candidate.before[0] or "", change.value)

    def between(self, before: str, after: str) -> GainEstimate | None:
        """The gain when a NIC of one model becomes one of another; None: not measured."""
        gains = self._gains.get((before, after), [])
        return _estimate(gains) if before and gains else None


def _model(nic: str) -> str:
    """The model: ``virtio`` from ``virtio, 4 queues``."""
    return nic.partition(",")[0].strip()


def _estimate(gains: list[MeasuredGain]) -> GainEstimate:
    """The estimate from the workload and metric with most measurements; ties are resolved by
    name."""
    by_metric: dict[tuple[str, str], list[MeasuredGain]] = defaultdict(list)
    for gain in gains:
        by_metric[gain.workload, gain.metric].append(gain)
    (workload, metric), chosen = min(by_metric.items(), key=lambda one: (-len(one[1]), one[0]))
    percents = [gain.percent for gain in chosen]
    is_single = len(chosen) == 1
    return GainEstimate(
        workload=workload,
        metric=metric,
        measurements=len(chosen),
        percent=median(percents),
        low=chosen[0].low95 if is_single else min(percents),
        high=chosen[0].high95 if is_single else max(percents),
    )
