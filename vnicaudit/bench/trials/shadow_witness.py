"""Proof that the packets of each run took the intended NIC: the host's counters on the shadow's
tap, which carries only the measured traffic."""

from __future__ import annotations

from vnicaudit.bench.running.forecast import Ahead
from vnicaudit.bench.running.listener import Listener
from vnicaudit.errors import RefusedError
from vnicaudit.model.machine import Traffic
from vnicaudit.model.measurement import Sample, Workload
from vnicaudit.remedy.hypervisor import Machine

_FEW = 10
"""Packets in each direction that every run needs, and that ARP alone never reaches."""
_LARGEST = 65536
"""Maximum bytes of a packet: with offloads, taps carry them unsegmented."""


class TapWitness:
    """A Listener that reads the counts of a tap around each run, and passes on everything it is
    told."""

    def __init__(self, machine: Machine, listener: Listener) -> None:
        self._machine = machine
        self._listener = listener
        self._tap = ""
        self._before = Traffic(0, 0)

    def watch(self, tap: str) -> None:
        """Count on that tap from now on. Raises RefusedError if the host cannot count."""
        self._tap = tap
        self._before = self._traffic_now()

    def prepares(self, text: str) -> None:
        """Pass it on."""
        self._listener.prepares(text)

    def begins(self, ahead: Ahead) -> None:
        """Pass it on."""
        self._listener.begins(ahead)

    def runs(self, workload: Workload, arm: str, ahead: Ahead) -> None:
        """Read the counts, then pass it on."""
        self._listener.runs(workload, arm, ahead)
        self._before = self._traffic_now()

    def sampled(self, sample: Sample) -> None:
        """Read the counts, then pass it on. Raises RefusedError if the packets took another way."""
        self._listener.sampled(sample)
        if not sample.valid:
            return
        passed = _traffic_since(self._before, self._traffic_now())
        if not _carried(passed, sample):
            raise RefusedError(
                f"the packets of {sample.workload} did not go through the shadow NIC: it had "
                f"{passed.received} packets in and {passed.sent} out"
            )

    def says(self, text: str) -> None:
        """Pass it on."""
        self._listener.says(text)

    def _traffic_now(self) -> Traffic:
        found = self._machine.traffic(self._tap)
        if found is None:
            raise RefusedError("the host cannot count the packets of the shadow NIC")
        return found


def _traffic_since(before: Traffic, after: Traffic) -> Traffic:
    return Traffic(after.received - before.received, after.sent - before.sent)


def _carried(passed: Traffic, sample: Sample) -> bool:
    """True if the counted traffic is large enough to be all of the run."""
    seconds = sample.covariates.seconds or 0.0
    least = sample.values.get("goodput", 0.0) * seconds / 8 / _LARGEST
    most = max(passed.received, passed.sent)
    return min(passed.received, passed.sent) >= _FEW and most >= least / 2
