"""Places that are not there, for trials: what is measured is what the guest is now."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.bench.running.fakes import End, Guard, Told, opened
from vnicaudit.bench.facts.covariates import Limits
from vnicaudit.bench.paths import GivenPath
from vnicaudit.bench.profiles.profile import Profile
from vnicaudit.bench.running import rails
from vnicaudit.bench.running.arms import Opened
from vnicaudit.bench.running.opening import Line
from vnicaudit.bench.trials.order import TrialOrder
from vnicaudit.model.measurement import Setup, Workload


class Opening:
    """Stands for Places, and notes what is opened."""

    def __init__(self) -> None:
        self.opened: list[tuple[str, str, str | None]] = []
        self.required = 0

    def __call__(self, stack: ExitStack, seed: int = 0) -> Opening:
        assert seed == 7
        del stack
        return self

    def open(self, given: GivenPath, line: Line, mac: str | None = None) -> Opened:
        assert line == Line()
        self.opened.append((given.target, given.peer, mac))
        return opened(given.name, End(given.target))._replace(boot=f"boot {len(self.opened)}")

    def require(self, opened: Iterable[Opened], workloads: Iterable[Workload]) -> None:
        assert all(opened)
        assert all(workloads)
        self.required += 1

    def setups(self, opened: Iterable[Opened]) -> list[Setup]:
        booted = str(len(self.opened))
        return [Setup(each.ends.target.url, {"booted": booted}) for each in opened]


def installed(monkeypatch: pytest.MonkeyPatch, module: object) -> Opening:
    """Have a trial open nothing."""
    opening = Opening()
    monkeypatch.setattr(module, "Places", opening)
    monkeypatch.setattr(rails, "load", lambda _name: Guard())
    return opening


def order(state: Path, profile: Profile, told: Told, **more: object) -> TrialOrder:
    """What is asked for."""
    made: dict[str, object] = {
        "profile": profile, "peer": "ssh://gen1", "line": Line(), "seed": 7, "limits": Limits(),
        "undecided": "roll-back", "state": state, "listener": told,
    }  # fmt: skip
    return TrialOrder(**{**made, **more})  # type: ignore[arg-type]
