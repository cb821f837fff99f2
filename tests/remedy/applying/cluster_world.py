"""A cluster with one virtual machine that answers at once: its API server makes JSON patches, its
controller replaces the instance some seconds after a restart was asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.remedy.applying.fakes import Stage, watch
from vnicaudit.errors import GoneError, NoResponseError, RefusedError
from vnicaudit.model.cluster import OwnedObject
from vnicaudit.model.finding import Ref
from vnicaudit.model.plan import (
    MODES,
    ConfigUnit,
    ModeOption,
    NetworkUnit,
    PatchLine,
    PreferenceUnit,
    UnitStep,
    VmUnit,
)
from vnicaudit.platforms.kubevirt.cluster_guests import is_migrating
from vnicaudit.platforms.kubevirt.cluster_objects import ownership_of
from vnicaudit.remedy.cluster_patch import patch_diff, patch_digest
from vnicaudit.text.json_items import decoded_place

ClusterUnitT = TypeVar("ClusterUnitT", VmUnit, PreferenceUnit, NetworkUnit, ConfigUnit)
TARGET = "kube:lab"
UID = "5b3b4c8e-0000-4000-8000-000000000001"
DEVICES = "/spec/template/spec/domain/devices"
MODEL = PatchLine(f"{DEVICES}/interfaces/0/model", "default", "e1000", "virtio")
QUEUES = PatchLine(f"{DEVICES}/networkInterfaceMultiqueue", after=True)
SECONDS = 20.0
"""From a request for a restart until the new instance runs."""


class FakeCluster:
    """``refuses``: words with which the server refuses what would be stored; ``loses``: requests
    whose answers do not arrive; ``comes_back``: how the instance does so: ``with it``, ``never``,
    ``old`` (with the old NIC), ``silent`` (without the agent); ``not begun``: it does not go;
    ``clears_at``: when its conditions do."""

    def __init__(self, world: ClusterWorld) -> None:
        self.world = world
        self.url = "https://lab:6443"
        self.comes_back = "with it"
        self.refuses = ""
        self.restart_refused = ""
        self.warns: tuple[str, ...] = ()
        self.loses: set[str] = set()
        self.requests: list[str] = []
        self.patches: list[list[Mapping[str, object]]] = []
        self.restarts = 0
        interface = {"name": "default", "model": "e1000", "masquerade": {}}
        domain = {"devices": {"interfaces": [interface]}}
        self.vm: dict[str, Any] = {
            "metadata": {"name": "web", "namespace": "shop", "uid": UID, "resourceVersion": "10"},
            "spec": {"runStrategy": "Always", "template": {"spec": {"domain": domain}}},
            "status": {"printableStatus": "Running"},
        }
        self.vmi: dict[str, Any] | None = None
        self.due = 0.0
        self.clears_at = float("inf")
        self.first = deepcopy(self.devices())
        self._start()

    # What the cluster does.

    def _start(self) -> None:
        self.restarts += 1
        spec = deepcopy(self.vm["spec"]["template"]["spec"])
        if self.comes_back == "old" and self.restarts > 1:
            spec["domain"]["devices"] = deepcopy(self.first)
        agent = "False" if self.comes_back == "silent" and self.restarts > 1 else "True"
        names = [each["name"] for each in spec["domain"]["devices"]["interfaces"]]
        self.vmi = {
            "metadata": {"uid": f"instance-{self.restarts}"},
            "spec": spec,
            "status": {
                "phase": "Running",
                "conditions": [{"type": "AgentConnected", "status": agent}],
                "interfaces": [
                    {"name": name, "infoSource": "domain, guest-agent"} for name in names
                ],
            },
        }

    def _goes_on(self) -> None:
        if self.due and self.world.clock.seconds >= self.due:
            self.due = 0.0
            self.vm["status"].pop("stateChangeRequests", None)
            self._start()
        if self.world.clock.seconds >= self.clears_at:
            self.vm["status"].pop("conditions", None)

    def touch(self) -> None:
        """Somebody else changes the virtual machine."""
        version = int(self.vm["metadata"]["resourceVersion"])
        self.vm["metadata"]["resourceVersion"] = str(version + 1)

    def nic(self) -> dict[str, Any]:
        """The interface in the template."""
        found: dict[str, Any] = self.devices()["interfaces"][0]
        return found

    def devices(self) -> dict[str, Any]:
        """The devices in the template."""
        found: dict[str, Any] = self.vm["spec"]["template"]["spec"]["domain"]["devices"]
        return found

    def runs_with(self) -> str:
        """The model of the NIC that is in the running instance; empty: it does not run."""
        self._goes_on()
        if self.vmi is None:
            return ""
        return str(self.vmi["spec"]["domain"]["devices"]["interfaces"][0]["model"])

    # What it is asked.

    def identity(self) -> str:
        return self.url

    def virtctl(self, words: str) -> str:
        return f"virtctl --context lab {words}"

    def get(self, kind: str, namespace: str, name: str) -> dict[str, Any]:
        self._asked(f"get {kind}")
        if (namespace, name) != ("shop", "web"):
            raise GoneError(f"{name} not found")
        return deepcopy(self.vm)

    def instance(self, namespace: str, name: str) -> dict[str, Any] | None:
        del namespace, name
        self._asked("instance")
        return deepcopy(self.vmi)

    def ownership(self, found: Mapping[str, Any]) -> OwnedObject:
        return OwnedObject(**ownership_of(decoded_place(found, "")))

    def is_migrating(self, instance: Mapping[str, Any]) -> bool:
        return is_migrating(decoded_place(instance, ""))

    def patch(
        self, kind: str, namespace: str, name: str, patch: Sequence[Mapping[str, object]],
        *, dry_run: bool = False,
    ) -> tuple[dict[str, Any], tuple[str, ...]]:  # fmt: skip
        del kind, namespace, name
        words = "dry run" if dry_run else "patch"
        self.world.passing(f"before {words}")
        self._asked(words, before=True)
        made = deepcopy(self.vm)
        for each in patch:
            _operate(made, each)
        if self.refuses:
            raise RefusedError(self.refuses)
        if not dry_run:
            self.patches.append([*patch])
            self.vm = made
            self.touch()
        self.world.passing(f"behind {words}")
        self._asked(words)
        return deepcopy(self.vm), self.warns

    def restart(self, namespace: str, name: str, *, dry_run: bool = False) -> None:
        del namespace, name
        words = "restart dry run" if dry_run else "restart"
        self.world.passing(f"before {words}")
        self._asked(words, before=True)
        if self.due:  # virt-api answers 500
            raise NoResponseError("500: unable to complete request: stop/start already underway")
        if self.restart_refused or self.vmi is None:
            raise RefusedError(self.restart_refused or "409: VM is not running: Halted")
        if not dry_run:
            if self.comes_back != "not begun":
                self.vmi = None
            self.vm["status"]["stateChangeRequests"] = [{"action": "Stop"}, {"action": "Start"}]
            self.due = self.world.clock.seconds + SECONDS
            if self.comes_back in ("never", "not begun"):
                self.due = float("inf")
        self.world.passing(f"behind {words}")
        self._asked(words)

    def _asked(self, words: str, *, before: bool = False) -> None:
        self._goes_on()
        self.world.at_place.pop(f"{words}{' asked' if before else ''}", lambda: None)()
        if before:
            self.requests.append(words)
            return
        if words in self.loses:
            self.loses.remove(words)
            raise NoResponseError(f"no answer to {words} within 30 s")


def _operate(made: dict[str, Any], operation: Mapping[str, object]) -> None:
    """Make one operation of RFC 6902. Raises RefusedError as an API server does."""
    *folders, last = str(operation["path"]).split("/")[1:]
    place: Any = made
    for each in folders:
        place = place[int(each)] if isinstance(place, list) else place.get(each, {})
    key: Any = int(last) if isinstance(place, list) else last
    there = key in place if isinstance(place, dict) else key < len(place)
    if operation["op"] == "test" and (not there or place[key] != operation["value"]):
        raise RefusedError("422: the server rejected our request due to an error in our request")
    if operation["op"] == "remove":
        del place[key]
    elif operation["op"] != "test":
        place[key] = operation["value"]


class ClusterWorld(Stage):
    """That cluster, and the program that works on it. ``at_place``: what happens at the first
    passing of a place, or at a request."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.at_place: dict[str, Callable[[], object]] = {}
        self.cluster = FakeCluster(self)
        self.adapters = self.adapters._replace(cluster=lambda _target, _seconds: self.cluster)

    def passing(self, place: str) -> None:
        super().passing(place)
        self.at_place.pop(place, lambda: None)()


def cluster_world(folder: Path, monkeypatch: pytest.MonkeyPatch) -> ClusterWorld:
    """A fresh one; each line, file and request is a place to be ended at."""
    monkeypatch.undo()
    world = ClusterWorld(folder)
    watch(world, monkeypatch)
    return world


def vm_step(*lines: PatchLine, number: int = 1, uid: str = UID) -> UnitStep[VmUnit]:
    """The step of a plan that makes this patch of that virtual machine."""
    return step_on(VmUnit(uid, "shop", "web", lines, server="https://lab:6443"), TARGET, number)


def step_on(unit: ClusterUnitT, target: str, number: int = 1) -> UnitStep[ClusterUnitT]:
    """The step of a plan that makes the patch of this unit."""
    return UnitStep(
        id=str(number), target=target, about=Ref("nic", unit.full_name, unit.uid, index=0),
        owner="kubevirt", to="virtio", rules=("VNIC001",), changes=(), readiness="ready", safe=True,
        reason="", running=True,
        modes=tuple(ModeOption(mode, possible=mode != "hotswap") for mode in MODES),
        digest=patch_digest(target, unit, ()), diff=patch_diff(unit), unit=unit,
    )  # fmt: skip
