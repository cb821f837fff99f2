"""The program at work on a real API server, which may be ended anywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.kube.objects import Object, attachment, interface, kubevirt, virtual_machine
from tests.kube.server import Refused, Server
from tests.kube.virt import VMIS, VMS, Virt
from tests.remedy.applying.cluster_world import MODEL, QUEUES, ClusterUnitT, step_on
from tests.remedy.applying.fakes import Clock, Killed, Stage, watch
from vnicaudit.errors import UsageError
from vnicaudit.model.decoding import value_at
from vnicaudit.model.plan import (
    ConfigUnit,
    Mode,
    NetworkUnit,
    PatchLine,
    PreferenceUnit,
    Step,
    VmUnit,
)
from vnicaudit.model.runs import UnitRun
from vnicaudit.platforms.kubevirt.live.changes import ClusterPlace
from vnicaudit.remedy.applying.history import runs
from vnicaudit.remedy.applying.rollback import RollbackSelection
from vnicaudit.remedy.applying.runner import RunResult

PREFERENCE: Object = {
    "apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": "VirtualMachineClusterPreference",
    "metadata": {"name": "old"}, "spec": {"devices": {"preferredInterfaceModel": "e1000"}},
}  # fmt: skip
PREFERENCES = "/apis/instancetype.kubevirt.io/v1beta1/virtualmachineclusterpreferences"
NETWORKS = "/apis/k8s.cni.cncf.io/v1/namespaces/shop/network-attachment-definitions"
KUBEVIRTS = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts"


class Subject(NamedTuple):
    """An object that is changed, where it is, its fields that are, and what a plan says of one."""

    step: Callable[[str, Object, PatchLine, int], Step]
    load: Callable[[], Object]
    path: str
    lines: tuple[PatchLine, ...]


def _step_on(kind: type[ClusterUnitT]) -> Callable[[str, Object, PatchLine, int], Step]:
    def step(target: str, meta: Object, line: PatchLine, number: int) -> Step:
        unit = kind(meta["uid"], meta.get("namespace", ""), meta["name"], (line,))
        return step_on(unit, target, number)

    return step


def _emulating() -> Object:
    found = kubevirt()
    found["spec"] = {"configuration": {"developerConfiguration": {"useEmulation": True}}}
    return found


VM = Subject(
    _step_on(VmUnit), lambda: virtual_machine("web", interface(model="e1000")),
    VMS.format("shop", "web"), (MODEL, QUEUES),
)  # fmt: skip
SUBJECTS = {
    "vm": VM,
    "preference": Subject(
        _step_on(PreferenceUnit), lambda: PREFERENCE, f"{PREFERENCES}/old",
        (PatchLine("/spec/devices/preferredInterfaceModel", before="e1000", after="virtio"),),
    ),
    "nad": Subject(
        _step_on(NetworkUnit), lambda: attachment(config="{}"), f"{NETWORKS}/lan",
        (PatchLine("/spec/config", before="{}", after='{"type": "bridge"}'),),
    ),
    "config": Subject(
        _step_on(ConfigUnit), _emulating, f"{KUBEVIRTS}/kubevirt",
        (PatchLine("/spec/configuration/developerConfiguration/useEmulation", before=True),),
    ),
}  # fmt: skip


class _Steps(Clock):
    """Time that passes is a step of KubeVirt's controller."""

    def __init__(self, virt: Virt) -> None:
        super().__init__()
        self._virt = virt

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self._virt.step()


class Changing(Stage):
    """One object of a real cluster, and the program that works on it. ``at_place``: what happens
    when a place is passed for the first time."""

    def __init__(self, folder: Path, cluster: Server, virt: Virt, subject: Subject) -> None:
        super().__init__(folder)
        self.cluster, self.virt, self.subject = cluster, virt, subject
        self.at_place: dict[str, Callable[[], object]] = {}
        self.results: list[RunResult] = []
        self.target = "kube:admin"
        self.clock = _Steps(virt)
        self.adapters = self.adapters._replace(clock=self.clock, cluster=self._reached)
        cluster.load(self.subject.load())
        virt.settle()
        self.first = self.now()

    def _reached(self, target: str, deadline: float) -> ClusterPlace:
        return _Watched(self, target, deadline)

    def passing(self, place: str) -> None:
        super().passing(place)
        self.at_place.pop(place, lambda: None)()

    @property
    def steps(self) -> tuple[Step, ...]:
        """Those of a plan, one for each field."""
        meta = self.first["metadata"]
        return tuple(
            self.subject.step(self.target, meta, line, number)
            for number, line in enumerate(self.subject.lines, 1)
        )

    def applied(self, mode: Mode = "next-boot") -> UnitRun:
        """What became of it."""
        (unit,) = self.apply(self.steps, self.context(mode)).run.steps
        return unit

    def rolled_back(self, mode: Mode = "next-boot", *, over_edits: bool = False) -> UnitRun:
        """What became of the way back."""
        (back,) = self.rollback(self.context(mode), RollbackSelection(over_edits=over_edits))
        (unit,) = back.run.steps
        return unit

    def killed(self, mode: Mode, kill_at: int | None, *, back: bool = False) -> bool:
        """Whether the program was ended before its end, which it was if there is such a place."""
        self.passed.clear()
        self.kill_at = kill_at
        with suppress(UsageError):  # there is nothing to undo
            try:
                context = self.context(mode)
                self.results = [
                    *(self.rollback(context) if back else [self.apply(self.steps, context)])
                ]
            except Killed:
                return True
        return False

    def now(self) -> dict[str, Any]:
        """The object as it is."""
        found: dict[str, Any] = self.cluster.ask("GET", self.subject.path)
        return found

    def is_changed(self) -> bool:
        """Whether its fields are as they were to be, all of them. Raises AssertionError if it is
        changed by half, or elsewhere."""
        found = self.now()
        values = {line.path: value_at(found, line.path) for line in self.subject.lines}
        if values == {line.path: line.after for line in self.subject.lines}:
            return True
        assert values == {line.path: line.before for line in self.subject.lines}
        assert found["spec"] == self.first["spec"]
        return False

    def instance(self) -> dict[str, Any]:
        """That of the virtual machine, which runs."""
        self.virt.settle()
        found: dict[str, Any] = self.cluster.ask("GET", f"{VMIS.format('shop')}/web")
        assert found["status"]["phase"] == "Running"
        return found

    def runs_with(self) -> str:
        """The model that its instance has."""
        return str(self.instance()["spec"]["domain"]["devices"]["interfaces"][0]["model"])

    def edit(self, path: str, value: object) -> None:
        """Somebody else does."""
        patch = [{"op": "replace", "path": path, "value": value}]
        self.cluster.ask("PATCH", self.subject.path, patch, kind="application/json-patch+json")

    def over(self) -> None:
        """No run is unfinished, and nothing is left in the cluster."""
        assert [run for run in runs(str(self.folder)) if run.outcome == "unfinished"] == []
        self.virt.clear()
        with suppress(Refused):
            self.cluster.ask("DELETE", self.subject.path)


class _Watched(ClusterPlace):
    """The real one; before and behind each change the program may be ended."""

    def __init__(self, world: Changing, target: str, deadline: float) -> None:
        super().__init__(target, deadline)
        self._world = world

    def patch(
        self, kind: str, namespace: str, name: str, patch: Sequence[Mapping[str, object]],
        *, dry_run: bool = False,
    ) -> tuple[dict[str, object], tuple[str, ...]]:  # fmt: skip
        words = "dry run" if dry_run else "patch"
        self._world.passing(f"before {words}")
        found = super().patch(kind, namespace, name, patch, dry_run=dry_run)
        self._world.passing(f"behind {words}")
        return found

    def restart(self, namespace: str, name: str, *, dry_run: bool = False) -> None:
        words = "restart dry run" if dry_run else "restart"
        self._world.passing(f"before {words}")
        super().restart(namespace, name, dry_run=dry_run)
        self._world.passing(f"behind {words}")


def changing(
    folder: Path, cluster: Server, virt: Virt, patch: pytest.MonkeyPatch, subject: Subject = VM
) -> Changing:
    """One that is fresh; the kubeconfig is the administrator's."""
    patch.undo()
    patch.setenv("KUBECONFIG", str(cluster.admin))
    world = Changing(folder, cluster, virt, subject)
    watch(world, patch)
    return world
