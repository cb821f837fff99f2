"""Whether the packets took the NIC that was to be measured."""

from __future__ import annotations

import pytest

from tests.bench.silent import SilentListener
from tests.bench.trials.shadow_fakes import World
from vnicaudit.bench.running.forecast import Ahead
from vnicaudit.bench.trials.shadow_witness import TapWitness
from vnicaudit.errors import RefusedError
from vnicaudit.model.machine import Traffic
from vnicaudit.model.measurement import Covariates, Sample, Workload

_WORK = Workload(id="tcp", engine="iperf3", pattern="tcp", decides=("goodput",))
AHEAD = Ahead(1, 2, 3.0, 3.0)
_RATE = 1e9
"""bit/s for one second: 1,907 packets of 64 KiB."""


def _sample(*, valid: bool = True, goodput: float | None = _RATE) -> Sample:
    return Sample(
        workload="tcp", arm="before", block=0, order=0, started="", valid=valid,
        values={} if goodput is None else {"goodput": goodput}, covariates=Covariates(seconds=1.0),
    )  # fmt: skip


def _one_run(sample: Sample, received: int, sent: int) -> None:
    """A run in which the shadow received and sent so many packets."""
    world = World()
    witness = TapWitness(world, SilentListener())
    world.counts = {"vnet7": Traffic(99, 99), "vnet8": Traffic(11, 13)}
    witness.watch("vnet7")
    witness.watch("vnet8")  # plugged in once more
    witness.prepares("")
    witness.begins(AHEAD)
    witness.runs(_WORK, sample.arm, AHEAD)
    world.counts = {"vnet8": Traffic(11 + received, 13 + sent)}
    witness.sampled(sample)
    witness.says("")


@pytest.mark.parametrize(("received", "sent"), [(80_000, 30_000), (2_000, 30), (30, 2_000)])
def test_the_right_one(received: int, sent: int) -> None:
    _one_run(_sample(), received, sent)


@pytest.mark.parametrize(("received", "sent"), [(3, 0), (80_000, 2), (2, 30_000), (100, 100)])
def test_the_wrong_one(received: int, sent: int) -> None:
    words = f"did not go through the shadow NIC: it had {received} packets in and {sent} out"
    with pytest.raises(RefusedError, match=f"^the packets of tcp {words}$"):
        _one_run(_sample(), received, sent)


def test_a_run_that_does_not_count_proves_nothing() -> None:
    _one_run(_sample(valid=False), 0, 0)


def test_requests_are_few_packets() -> None:
    _one_run(_sample(goodput=None), 10, 10)
    with pytest.raises(RefusedError):
        _one_run(_sample(goodput=None), 10, 9)


def test_a_host_that_cannot_count() -> None:
    world = World()
    world.counts = {"vnet8": None}
    with pytest.raises(RefusedError, match="cannot count the packets of the shadow NIC"):
        TapWitness(world, SilentListener()).watch("vnet8")
