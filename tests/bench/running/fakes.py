"""Ends that are not there, and an engine that measures what it is told to."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path as File
from typing import ClassVar

from msgspec.structs import replace

from tests.bench.judging.made import TCP
from vnicaudit.base.deadlines import Clock
from vnicaudit.bench import history
from vnicaudit.bench.contract import (
    Ends,
    Measured,
    Needs,
    RailCheck,
    StartedProgram,
    Transport,
    over_tcp,
)
from vnicaudit.bench.judging.terms import Terms
from vnicaudit.bench.profiles.profile import Profile
from vnicaudit.bench.running.collector import Collector, MeasurementTerms
from vnicaudit.bench.running.forecast import Ahead
from vnicaudit.bench.running.opening import ArmCommands, BenchPlugins, OpenedArm
from vnicaudit.model.measurement import Covariates, NicBytes, Path, Ran, Sample, Workload

RR = replace(TCP, id="rr", engine="rr", pattern="rr1c-1x1", size=None, primary=False)


class End:
    """An Endpoint that notes what it is asked to run. ``fails``: program -> its exit code."""

    def __init__(self, url: str = "local") -> None:
        self.url = url
        self.ran: list[str] = []
        self.fails: dict[str, int | None] = {}

    def run(self, argv: Sequence[str], *, seconds: float = 30.0, stdin: bytes = b"") -> Ran:
        assert (seconds > 0, stdin) == (True, b"")
        self.ran.append(" ".join(argv))
        code = self.fails.get(argv[0], 0)
        return Ran(tuple(argv), code, "", "" if code == 0 else "no such device", 0.1, self.url)

    def start(self, argv: Sequence[str], *, seconds: float) -> StartedProgram:
        raise AssertionError((argv, seconds))

    def put_file(self, name: str, data: bytes) -> str:
        raise AssertionError((name, data))

    def close(self) -> None:
        """Nothing is open."""


class Watching:
    """Stands for the covariates."""

    def __init__(self) -> None:
        self.steal: list[float] = []
        """Of the next runs; then none."""
        self.nics: tuple[NicBytes, ...] = ()
        """Of all runs."""
        self.unchecked: dict[str, str] = {}
        self.target_counted: bool | None = None

    def begin(self) -> None:
        """Nothing is read."""

    def end(self, measured: Measured, warmup: float | None = None) -> Covariates:
        del warmup
        steal = self.steal.pop(0) if self.steal else 0.0
        return Covariates(
            target_steal=steal,
            seconds=measured.seconds,
            nics=self.nics,
        )


def path(name: str = "a", target: str = "local") -> Path:
    return Path(name=name, target=target, peer="netns://peer", address="192.0.2.1")


def opened(
    name: str = "a", end: End | None = None, *enter: str, watching: Watching | None = None
) -> OpenedArm:
    """An arm; ``enter``: the command that brings it about."""
    target = end or End()
    ends = Ends(target, End("netns://peer"), "192.0.2.1")
    watch = watching or Watching()
    return OpenedArm(path(name, target.url), ends, watch, "boot", ArmCommands(enter))  # type: ignore[arg-type]


Outcome = Callable[[Workload, Ends, int], "float | Measured"]


class Engine:
    """Measures what ``outcome`` says: of the workload, the ends, and the number of the run."""

    PATTERNS: ClassVar[dict[str, tuple[str, ...]]] = {"tcp": ("goodput",)}

    def __init__(self, outcome: Outcome = lambda *_: 1e9) -> None:
        self.outcome = outcome
        self.runs: list[tuple[str, float]] = []

    def needs(self, workload: Workload) -> Needs:
        del workload
        return Needs()

    def check(self, workload: Workload) -> None:
        """All can be run."""

    def prepare(self, workload: Workload, ends: Sequence[Ends]) -> str:
        del workload, ends
        return ""

    def transport(self, workload: Workload) -> Transport:
        return over_tcp(workload)

    def measure(self, workload: Workload, ends: Ends) -> Measured:
        self.runs.append((workload.id, workload.seconds))
        value = self.outcome(workload, ends, len(self.runs))
        if isinstance(value, Measured):
            return value
        return Measured(values={"goodput": value}, seconds=workload.seconds)


class Guard:
    """A guard rail. ``broken``: the arms in which it does not hold; ``troubles``: state -> what was
    wrong already when it was read."""

    def __init__(self, broken: Sequence[str] = ()) -> None:
        self.broken = broken
        self.troubles: dict[str, str] = {}
        self.asked: list[str] = []

    def before(self, ends: Ends, path: Path) -> str:
        del ends
        self.asked.append(f"before {path.name}")
        return f"as in {path.name}"

    def after(self, ends: Ends, path: Path, before: str) -> RailCheck:
        del ends
        self.asked.append(f"after {path.name}, {before}")
        return RailCheck("failed", "lost") if path.name in self.broken else RailCheck("ok")

    def trouble(self, before: str) -> str:
        return self.troubles.get(before, "")


def plugins(engine: Engine | None = None, guard: Guard | None = None) -> BenchPlugins:
    """Every workload is run by that engine, and every guard rail is that one."""
    one = engine or Engine()
    return BenchPlugins(lambda _name: one, {"ping": guard or Guard()})


class Told:
    """A Listener that notes all."""

    def __init__(self) -> None:
        self.prepared: list[str] = []
        self.ahead: list[Ahead] = []
        self.samples: list[Sample] = []
        self.said: list[str] = []

    def prepares(self, text: str) -> None:
        self.prepared.append(text)

    def runs(self, workload: Workload, arm: str, ahead: Ahead) -> None:
        del workload, arm
        self.ahead.append(ahead)

    def sampled(self, sample: Sample) -> None:
        self.samples.append(sample)

    def says(self, text: str) -> None:
        self.said.append(text)


def profile(*workloads: Workload, runs: int = 2, **more: object) -> Profile:
    """One that needs no time."""
    made: dict[str, object] = {
        "name": "made", "title": "", "workloads": workloads or (TCP,), "looks": (runs,),
        "alphas": (0.05,), "cooldown": 0.0, "guards": (),
    }  # fmt: skip
    return Profile(**{**made, **more})  # type: ignore[arg-type]


def collecting(
    state: File,
    one: Profile,
    told: Told,
    engine: Engine | None = None,
    states: dict[str, tuple[str, ...]] | None = None,
    clock: Clock = time,
) -> tuple[Collector, history.StoredMeasurement]:
    """A collector, and where it keeps its samples."""
    kept = history.new_measurement(state)
    task = MeasurementTerms(
        profile=one,
        arms=("a",),
        seed=0,
        terms=Terms(looks=one.looks, alphas=one.alphas, design="single"),
        states=states or {},
        plugins=plugins(engine),
    )
    return Collector(task, kept, told, clock=clock), kept
