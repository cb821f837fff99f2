"""Put a kept original back as a whole: whatever the journal says, and whoever changed it since.

It is a run of its own. What is replaced is kept by it as every definition is, so that it can be
taken back, too.
"""

from __future__ import annotations

from collections.abc import Callable

from vnicaudit.errors import RefusedError
from vnicaudit.model.plan import Mode
from vnicaudit.remedy.applying.files import read
from vnicaudit.remedy.applying.hosts import Hosts
from vnicaudit.remedy.applying.journal import Journal
from vnicaudit.remedy.applying.means import Definitions
from vnicaudit.remedy.applying.preflight import check_owner, check_restart, check_state
from vnicaudit.remedy.applying.prepare import Prepared, seen_before
from vnicaudit.remedy.applying.sheet import UnitSheet
from vnicaudit.remedy.applying.task import Task, by_hand, unmet
from vnicaudit.remedy.definitions import likeness, reading
from vnicaudit.remedy.digests import digest
from vnicaudit.remedy.history import Past
from vnicaudit.remedy.hypervisor import Machine

_MOST = 64 << 20
"""Bytes of a file of definitions."""


class Restore:
    """What is to be done to a unit so that it is what was kept. ``in_cloud`` knows the way back of
    a unit of a cloud, of which properties are kept and no definition."""

    def __init__(
        self, found: Past, mode: Mode, in_cloud: Callable[[UnitSheet, Hosts], Prepared]
    ) -> None:
        self._found = found
        self._mode = mode
        self._in_cloud = in_cloud

    def __call__(self, unit: UnitSheet, hosts: Hosts) -> Prepared:
        if unit.object is not None:
            return self._in_cloud(unit, hosts)
        kept = Definitions(self._found.folder, unit.key)
        begun = self._found.task(unit.key)
        task = begun if isinstance(begun, Task) else None
        original = kept.get(
            "before", None if task is None else task.before, "" if task is None else by_hand(task)
        )
        host = hosts.of(unit)
        if host is None:
            return _file(unit, original)
        return self._live(unit, task, original, host.machine(unit.uuid or ""))

    def _live(
        self, unit: UnitSheet, task: Task | None, original: bytes, machine: Machine
    ) -> Prepared:
        domain = reading().definition_of(original, unit.target)
        if domain.uuid != unit.uuid:
            raise RefusedError(f"the original that was kept is another domain's, {domain.uuid}")
        state = machine.state()
        check_owner(reading().definition_of(machine.definition(secrets=False), unit.target))
        wanted = () if task is None else tuple(one.inverse() for one in reversed(task.wanted))
        if unmet(domain, wanted):
            wanted = ()
        mode: Mode = self._mode if wanted else "next-boot"
        check_state(state, mode)
        if state.active and mode == "restart":
            check_restart(machine.live())
        current = machine.definition(secrets=True)
        left_off = task is not None and task.active and self._found.is_open(unit.key)
        active = state.active or left_off
        seen = seen_before(machine, tuple(one.mac for one in wanted), mode, active=state.active)
        if likeness().same(current, original) and not (active and mode != "next-boot"):
            return Prepared(None)
        made = Task(
            unit.key, unit.name, unit.target, unit.steps, wanted, mode, digest(current),
            digest(original), unit.uuid, None, active, seen, exact=True,
        )  # fmt: skip
        return Prepared(made, current, original)


def restorable(found: Past, unit: UnitSheet) -> bool:
    """Whether there is something to put back."""
    if unit.object is not None:
        return found.begun(unit.key)
    return Definitions(found.folder, unit.key).has("before")


def note_restored(found: Past, keys: set[str], run: str) -> None:
    """Have a run whose journal had lost units say that their originals are back."""
    journal = Journal(found.folder)
    try:
        for key in sorted(keys):
            words = f"its original was put back by run {run}"
            journal.write("done", key, outcome="rolled-back", message=words, undone=True)
        if not found.ended:
            journal.write("end", stopped=f"its originals were put back by run {run}")
    finally:
        journal.close()


def _file(unit: UnitSheet, original: bytes) -> Prepared:
    current = read(unit.file or "", _MOST)
    if current == original:
        return Prepared(None)
    task = Task(
        unit.key, unit.name, unit.target, unit.steps, (), "next-boot", digest(current),
        digest(original), None, unit.file,
    )  # fmt: skip
    return Prepared(task, current, original)
