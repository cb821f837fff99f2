"""All cores of the machine are loaded in the middle of a measurement: a change that changes nothing
is never called better or worse for it. Real iperf3 between network namespaces, in every design;
with limits so wide that every run counts, as where nothing but a busy machine is to be had."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.bench.endpoints.left import until
from tests.bench.judging.made import TCP
from tests.bench.running.fakes import Told, profile
from tests.bench.trials.places import order
from tests.bench.two_links import TwoLinks, two_links
from tests.not_run import not_run
from tests.remedy.applying.fakes import World
from vnicaudit.bench import history
from vnicaudit.bench.endpoints.opening import PathOption, parse_paths
from vnicaudit.bench.profiles.profile import Profile
from vnicaudit.bench.running.forecast import Ahead
from vnicaudit.bench.running.opening import ArmCommands
from vnicaudit.bench.running.run import MeasurementRequest, bench
from vnicaudit.bench.trials.flips import FlippedNic, Flips
from vnicaudit.bench.trials.request import AFTER, BEFORE, TrialRequest
from vnicaudit.bench.trials.single_flip import SingleFlip
from vnicaudit.cli.wiring.adapters import adapters
from vnicaudit.model.measurement import BenchResult, Workload

pytestmark = [  # it leaves no CPU to any other test
    pytest.mark.rig,
    pytest.mark.alone,
    pytest.mark.long,
]

_WORK = replace(TCP, seconds=1.0, warmup=0.0, direction="rx")
_LOOPS = 4
"""For each CPU."""
_NIC = FlippedNic("qemu:///system", "5f1c36b5-2f61-4e8b-8f8e-36f9cbd6f6b5", "52:54:00:12:34:56")


class BusyCores(Told):
    """Loads all cores at the first run after the change for which it is known what is usual."""

    def __init__(self, stack: ExitStack) -> None:
        super().__init__()
        self._stack = stack
        self.loaded = False

    def runs(self, workload: Workload, arm: str, ahead: Ahead) -> None:
        super().runs(workload, arm, ahead)
        known = sum(each.arm == BEFORE for each in self.samples)
        if arm == AFTER and known >= 2 and not self.loaded:
            self.loaded = True
            for _ in range(_LOOPS * (os.cpu_count() or 1)):
                self._begin()

    def _begin(self) -> None:
        """A busy loop in a session of its own: Linux shares CPUs out by session."""
        argv = ["sh", "-c", "while :; do :; done"]
        process = subprocess.Popen(argv, start_new_session=True)
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        ran = Path(f"/proc/{process.pid}/stat")
        until(lambda: sum(map(int, ran.read_text().split()[13:15])) > 0, "it runs")


class Nothing:
    """A change that changes nothing."""

    def to(self, arm: str) -> None:
        """It is so already."""


@pytest.fixture
def links() -> Iterator[TwoLinks]:
    if shutil.which("iperf3") is None:
        not_run("tests/bench/trials", "iperf3 is not installed")
    with two_links() as made:
        yield made


@pytest.fixture
def busy() -> Iterator[BusyCores]:
    with ExitStack() as stack:
        yield BusyCores(stack)


def work(**more: object) -> Profile:
    return profile(_WORK, runs=5, max_steal=100.0, max_cpu_wait=100.0, **more)


def path(links: TwoLinks) -> PathOption:
    target, peer = (f"netns://{name}" for name in links.names)
    return PathOption(AFTER, f"{target}?address=192.0.2.1", peer)


def asked(
    state: Path, busy: BusyCores, links: TwoLinks, profile: Profile, **more: object
) -> TrialRequest:
    return order(state, profile, busy, path_into=lambda *_: path(links), **more)


def judged(result: BenchResult, busy: BusyCores) -> None:
    """Nothing is said of the change."""
    values = [
        (each.arm, round(each.values.get("goodput", 0.0) / 1e9, 2)) for each in result.samples
    ]
    assert busy.loaded
    assert result.decision is not None
    assert result.decision.verdict in ("inconclusive", "invalid", "not-judged"), (
        values,
        result.decision,
    )
    assert all(each.verdict not in ("improved", "regressed") for each in result.results), values


def test_blocks(links: TwoLinks, busy: BusyCores, tmp_path: Path) -> None:
    where = path(links)
    request = MeasurementRequest(
        profile=work(), paths=parse_paths((f"{where.target},{where.peer}",)),
        arms={arm: ArmCommands(("true",)) for arm in (BEFORE, AFTER)}, states={}, labels={},
        seed=3, adapters=adapters,
    )  # fmt: skip
    result, _kept = bench(request, tmp_path, busy)
    judged(result, busy)


def test_turns(links: TwoLinks, busy: BusyCores, tmp_path: Path) -> None:
    request = asked(tmp_path, busy, links, work(runs_per_turn=2))
    judged(Flips(request, "flips", _NIC).measure(Nothing()), busy)


def test_a_single_flip(links: TwoLinks, busy: BusyCores, tmp_path: Path) -> None:
    host = World(tmp_path)
    request = asked(tmp_path, busy, links, work())
    trial = SingleFlip(request, tmp_path, "key", host, _NIC.uuid, (_NIC.mac,))  # type: ignore[arg-type]
    trial.before()
    trial.after()
    (only,) = history.measurement_ids(tmp_path)
    judged(history.stored_measurement(tmp_path, only).result(), busy)
