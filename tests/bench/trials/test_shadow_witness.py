"""Whether the packets took the NIC that was to be measured."""

from __future__ import annotations

import pytest

from tests.bench.silent import SilentListener
from tests.bench.trials.shadow_fakes import World
from vnicaudit.bench.running.forecast import Ahead
from vnicaudit.bench.trials.shadow_witness import Taps, TapWitness
from vnicaudit.errors import RefusedError
from vnicaudit.model.machine import Traffic
from vnicaudit.model.measurement import Covariates, Sample, Workload

_WORK = Workload(id="tcp", engine="iperf3", pattern="tcp", decides=("goodput",))
AHEAD = Ahead(1, 2, 3.0, 3.0)
_RATE = 1e9
"""bit/s for one second: 1,907 packets of 64 KiB."""


def _sample(arm: str, *, valid: bool = True, goodput: float | None = _RATE) -> Sample:
    return Sample(
        workload="tcp", arm=arm, block=0, order=0, started="", valid=valid,
        values={} if goodput is None else {"goodput": goodput}, covariates=Covariates(seconds=1.0),
    )  # fmt: skip


def _one_run(sample: Sample, old: tuple[int, int], shadow: tuple[int, int]) -> None:
    """A run in which the NICs received and sent so many packets."""
    world = World()
    world.counts = {"vnet0": Traffic(5, 7), "vnet1": Traffic(11, 13)}
    witness = TapWitness(Taps(world, "vnet0", "vnet1"), SilentListener())
    witness.prepares("")
    witness.begins(AHEAD)
    witness.runs(_WORK, sample.arm, AHEAD)
    world.counts = {
        "vnet0": Traffic(5 + old[0], 7 + old[1]),
        "vnet1": Traffic(11 + shadow[0], 13 + shadow[1]),
    }
    witness.sampled(sample)
    witness.says("")


@pytest.mark.parametrize(
    ("arm", "old", "shadow"),
    [
        ("before", (80_000, 30_000), (3, 0)),
        ("before", (30, 2_000), (3, 0)),
        ("after", (0, 0), (80_000, 30_000)),
        ("after", (10**6, 10**6), (2_000, 30)),
        ("before", (80_000, 30_000), (500, 1)),  # broadcasts
    ],
)
def test_the_right_one(arm: str, old: tuple[int, int], shadow: tuple[int, int]) -> None:
    _one_run(_sample(arm), old, shadow)


@pytest.mark.parametrize(
    ("arm", "old", "shadow", "words"),
    [
        ("after", (80_000, 30_000), (3, 0), "did not take the shadow NIC: it had 3 packets in and"),
        ("after", (0, 30_000), (80_000, 2), "did not take the shadow NIC"),
        ("after", (80_000, 0), (2, 30_000), "did not take the shadow NIC"),
        ("after", (80_000, 0), (100, 100), "did not take the shadow NIC"),
        ("before", (0, 0), (80_000, 30_000), "did not take the old NIC: it had 0 packets in and 0"),
        ("before", (80_000, 80_000), (80_000, 30_000), "did not take the old NIC"),
    ],
)
def test_the_wrong_one(arm: str, old: tuple[int, int], shadow: tuple[int, int], words: str) -> None:
    with pytest.raises(RefusedError, match=f"^the packets of tcp {words}"):
        _one_run(_sample(arm), old, shadow)


def test_a_run_that_does_not_count_proves_nothing() -> None:
    _one_run(_sample("after", valid=False), (0, 0), (0, 0))


def test_requests_are_few_packets() -> None:
    _one_run(_sample("after", goodput=None), (0, 0), (10, 10))
    with pytest.raises(RefusedError):
        _one_run(_sample("after", goodput=None), (99, 99), (10, 9))


def test_a_host_that_cannot_count() -> None:
    world = World()
    world.counts = {"vnet0": Traffic(0, 0), "vnet1": None}
    with pytest.raises(RefusedError, match="cannot count the packets of both NICs"):
        TapWitness(Taps(world, "vnet0", "vnet1"), SilentListener())
