"""Places that are not there, for trials: what is measured is what the guest is now."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from tests.bench.running.fakes import End, Told, opened
from vnicaudit.bench.endpoints.opening import PathOption
from vnicaudit.bench.endpoints.turns import Say
from vnicaudit.bench.profiles.profile import Profile
from vnicaudit.bench.running.opening import OpenedArm, OpenedEndpoints
from vnicaudit.bench.trials.request import TrialRequest
from vnicaudit.cli.wiring.adapters import adapters
from vnicaudit.model.measurement import Setup, Workload
from vnicaudit.remedy.hypervisor import GetAdapters


class Opening(OpenedEndpoints):
    """Stands for OpenedEndpoints, and notes what is opened."""

    def __init__(self) -> None:
        self.opened: list[tuple[str, str, str | None]] = []
        self.required = 0
        self.vcpus = "2"
        self.remark = ""
        """What opening says of the ends."""

    def __call__(self, stack: ExitStack, adapters: GetAdapters, seed: int, say: Say) -> Opening:
        assert seed == 7
        del stack, adapters
        if self.remark:
            say(self.remark)
        return self

    def open(self, given: PathOption, profile: Profile, mac: str | None = None) -> OpenedArm:
        assert profile.line_rate is None
        self.opened.append((given.target, given.peer, mac))
        return opened(given.name, End(given.target))._replace(boot=f"boot {len(self.opened)}")

    def require(self, opened: Iterable[OpenedArm], workloads: Iterable[Workload]) -> None:
        assert all(opened)
        assert all(workloads)
        self.required += 1

    def setups(self, opened: Iterable[OpenedArm]) -> list[Setup]:
        booted = str(len(self.opened))
        return [Setup(each.ends.target.url, {"booted": booted}) for each in opened]

    def labels(self, opened: Iterable[OpenedArm]) -> dict[str, str]:
        assert all(opened)
        return {"vcpus": self.vcpus}


def order(state: Path, profile: Profile, told: Told, **more: object) -> TrialRequest:
    """What is asked for."""
    made: dict[str, object] = {
        "profile": profile, "peer": "ssh://gen1", "seed": 7, "undecided": "roll-back",
        "state": state, "listener": told, "adapters": adapters,
    }  # fmt: skip
    return TrialRequest(**{**made, **more})  # type: ignore[arg-type]
