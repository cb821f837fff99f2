"""The hosts and clouds of a run."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack, suppress

from vnicaudit.errors import ActionError
from vnicaudit.remedy.applying.clouds.nodes import Nodes
from vnicaudit.remedy.applying.clouds.nova_manage import Manage
from vnicaudit.remedy.applying.clouds.place import Place
from vnicaudit.remedy.applying.sheet import UnitSheet
from vnicaudit.remedy.applying.state import StateFolder
from vnicaudit.remedy.cloud import Cloud, Reach
from vnicaudit.remedy.cloud import connect as connect_cloud
from vnicaudit.remedy.hypervisor import Hypervisor, connect
from vnicaudit.remedy.trusted_uris import check_uri

_FILES = "files"


class Hosts:
    """Connected, and held, until ``stack`` is left. ``deadline``: seconds libvirt (or a cloud) may
    take for one answer; ``reach``: what there is beside a cloud's API; ``hold``: whether other runs
    are kept away, and all is looked at before something is changed."""

    def __init__(
        self,
        state: StateFolder,
        deadline: float,
        stack: ExitStack,
        reach: Reach = Reach(),  # noqa: B008 - frozen
        *,
        hold: bool = True,
    ) -> None:
        self._state = state
        self._deadline = deadline
        self._stack = stack
        self._open: dict[str, Hypervisor] = {}
        self._clouds: dict[str, Cloud] = {}
        self._held: set[str] = set()
        self._hold_them = hold
        self._manage = Manage(reach.manage, reach.jobs)
        self._trusted = reach.trusted
        self._nodes = Nodes(reach.libvirt, deadline, stack)

    def open(self, units: Iterable[UnitSheet]) -> None:
        """Connect to the hosts and clouds of these units, and keep other runs away from them, or
        from files. Raises TargetError and RefusedError."""
        units = tuple(units)
        for unit in units:  # all of them, before one is dialled
            if unit.file is None and unit.object is None:
                check_uri(unit.target, self._trusted)
        for unit in units:
            if unit.file is not None:
                self._hold(_FILES, "files of this machine")
            elif unit.object is not None:
                self._open_cloud(unit.target)
            elif unit.target not in self._open:
                host = connect(unit.target, deadline=self._deadline)
                self._stack.callback(host.close)
                self._hold(host.key, host.name)
                self._open[unit.target] = host

    def of(self, unit: UnitSheet) -> Hypervisor | None:
        """The host of a unit; None for a file."""
        return None if unit.file is not None else self._open[unit.target]

    def elsewhere(self, unit: UnitSheet) -> str | None:
        """The URI of another host of this run that has the domain; None where none is known to."""
        for target, host in self._open.items():
            if target == unit.target or host.key == self._open[unit.target].key:
                continue
            with suppress(ActionError):
                host.machine(unit.uuid or "")
                return target
        return None

    def place_of(self, unit: UnitSheet) -> Place:
        """Where a unit of a cloud is."""
        cloud = self._clouds[unit.target]
        return Place(cloud, self._manage, self._nodes, thorough=self._hold_them)

    def _open_cloud(self, target: str) -> None:
        if target in self._clouds:
            return
        cloud = connect_cloud(target.partition(":")[2], deadline=self._deadline)
        self._stack.callback(cloud.close)
        self._hold(cloud.key, cloud.name)
        self._clouds[target] = cloud

    def _hold(self, key: str, name: str) -> None:
        if self._hold_them and key not in self._held:
            self._stack.enter_context(self._state.held(key, name))
            self._held.add(key)
