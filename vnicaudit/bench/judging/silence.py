"""Workloads of which nothing gets through any more after a change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from vnicaudit.bench.judging.catastrophe import KNOWN
from vnicaudit.model.measurement import Sample, Workload


def silent_workloads(
    samples: Sequence[Sample], workloads: Sequence[Workload], before_arm: str, after_arm: str
) -> tuple[str, ...]:
    """Primary workloads of which nothing got through in two runs after the change that followed one
    another, with a second witness to each that saw nothing either, though at least two runs before
    were measured, none before was silent, and the witness saw something then.

    What did not start, or was lost, is no silence: it says nothing of the network.
    """
    if before_arm == after_arm:
        return ()
    if not any(each.arm == before_arm and _answered(each) for each in samples):
        return ()
    runs: defaultdict[tuple[str, str], list[Sample]] = defaultdict(list)
    for sample in samples:
        runs[sample.workload, sample.arm].append(sample)
    return tuple(
        workload.id
        for workload in workloads
        if workload.primary
        and _was_measured(runs[workload.id, before_arm])
        and any(
            _is_silent(first) and _is_silent(second)
            for first, second in pairwise(runs[workload.id, after_arm])
        )
    )


def silence(
    samples: Sequence[Sample], workloads: Sequence[Workload], before_arm: str, after_arm: str
) -> tuple[str, ...]:
    """Reasons, one for each of the :func:`silent_workloads`."""
    return tuple(
        f"{name}: nothing got through in {after_arm} twice in a row, and ping was not answered "
        f"either; in {before_arm} both worked"
        for name in silent_workloads(samples, workloads, before_arm, after_arm)
    )


def _was_measured(before: Sequence[Sample]) -> bool:
    """Often enough, and it was never silent."""
    silent = any(sample.failure == "silent" for sample in before)
    return sum(sample.valid for sample in before) >= KNOWN and not silent


def _answered(sample: Sample) -> bool:
    return sample.witness is not None and sample.witness.answered is True


def _is_silent(sample: Sample) -> bool:
    """Nothing got through, and a second witness says so."""
    witness = sample.witness
    return sample.failure == "silent" and witness is not None and witness.answered is False
