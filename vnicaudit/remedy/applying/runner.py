"""Go through the units of a run, until it ends or has to stop."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from datetime import datetime

import msgspec

from vnicaudit.errors import ActionError, RefusedError, SilentError
from vnicaudit.model.runs import RunRecord
from vnicaudit.remedy.applying.files import FileMeans, carry_out_file
from vnicaudit.remedy.applying.hosts import Hosts
from vnicaudit.remedy.applying.journal import Journal
from vnicaudit.remedy.applying.means import Definitions, Means, Notes, Result
from vnicaudit.remedy.applying.prepare import Prepared
from vnicaudit.remedy.applying.schedule import Schedule, side_by_side
from vnicaudit.remedy.applying.sheet import UnitSheet
from vnicaudit.remedy.applying.task import Task
from vnicaudit.remedy.applying.unit import carry_out, give_up
from vnicaudit.remedy.history import TAKEN_BACK, Past, again, record
from vnicaudit.remedy.hypervisor import Hypervisor
from vnicaudit.remedy.trial import Trial, Trials

Tell = Callable[[str, str], None]
"""Is told the name of a domain and what happens to it."""

Preparing = Callable[[UnitSheet, "Hypervisor | None"], Prepared]
"""What is to be done to one unit that was not begun. Raises RefusedError, ActionError."""


class Ended(msgspec.Struct, frozen=True):
    """How a run went. ``stopped``: why it did not go on to its end; empty: it did.
    ``taken_back``: it had been left in the middle, and what was begun of it was to be undone."""

    run: RunRecord
    stopped: str = ""
    taken_back: bool = False


class Runner:
    """One run. What an earlier life of the program did of it is not done again."""

    def __init__(
        self,
        found: Past,
        hosts: Hosts,
        preparing: Preparing,
        tell: Tell,
        trials: Trials | None = None,
    ) -> None:
        self._trials = trials
        self._found = found
        self._hosts = hosts
        self._preparing = preparing
        self._tell = tell
        self._journal = Journal(found.folder)
        self._results = dict(_results(found))

    def go(self, schedule: Schedule) -> Ended:
        """Do what is left to do, batch by batch; first what an earlier life left in the middle,
        whatever the schedule says: a guest may be off for it."""
        stopped = ""
        units = self._found.sheet.units
        try:
            side_by_side([self._work(unit) for unit in units if self._found.is_open(unit.key)])
            while left := [unit for unit in units if unit.key not in self._results]:
                done = [self._results[unit.key] for unit in units if unit.key in self._results]
                if stopped := schedule.stop(done, datetime.now()):
                    break
                side_by_side([self._work(unit) for unit in schedule.next(left, done)])
            self._journal.write("end", stopped=stopped)
        except SilentError as error:
            stopped = str(error)
        finally:
            self._journal.close()
        return Ended(record(again(self._found)), stopped)

    def take_back(self, keys: Collection[str]) -> Ended:
        """Undo what of these units was begun and not finished. The run is ended there, unless
        something else of it is in the middle."""
        reason = TAKEN_BACK
        units = self._found.sheet.units
        try:
            for unit in reversed(units):
                if unit.key in keys and self._found.is_open(unit.key):
                    self._one(unit, undo=reason)
            left = [one for one in units if self._found.is_open(one.key) and one.key not in keys]
            if left:
                reason = f"{left[0].name} is still in the middle"
            else:
                self._journal.write("end", stopped=reason)
        except SilentError as error:
            reason = str(error)
        finally:
            self._journal.close()
        return Ended(record(again(self._found)), reason, taken_back=True)

    def _work(self, unit: UnitSheet) -> Callable[[], None]:
        def work() -> None:
            if unit.key not in self._results:
                self._results[unit.key] = self._one(unit)

        return work

    def _one(self, unit: UnitSheet, *, undo: str = "") -> Result:
        """Do one unit, from where it is. Raises SilentError where the host stopped answering."""
        notes = Notes(self._journal, unit.key, self._found.of(unit.key))
        try:
            result = self._carried_out(unit, notes, undo)
        except SilentError:
            raise
        except RefusedError as error:
            result = _noted(notes, Result("refused", str(error)))
        except ActionError as error:
            result = _noted(notes, Result("failed", str(error)))
        message = f": {result.message}" if result.message else ""
        self._tell(unit.name, f"{result.outcome}{message}")
        return result

    def _carried_out(self, unit: UnitSheet, notes: Notes, undo: str) -> Result:
        definitions = Definitions(self._found.folder, unit.key)
        host = self._hosts.of(unit)
        task = _begun(notes) or _begin(self._preparing(unit, host), notes, definitions)
        if task is None:
            return _noted(notes, Result("already", "it is as planned already"))
        if host is None:
            file_means = FileMeans(task, notes, definitions)
            if undo:
                notes.write("undoing", reason=undo, outcome="rolled-back")
            return carry_out_file(file_means)
        means = Means(
            host, host.machine(task.uuid or ""), task, notes, definitions,
            self._found.sheet.limits, lambda text: self._tell(unit.name, text),
            self._trial(unit, host, task),
        )  # fmt: skip
        return give_up(means, undo) if undo else carry_out(means)

    def _trial(self, unit: UnitSheet, host: Hypervisor, task: Task) -> Trial | None:
        """There is nothing to measure where the guest is left alone."""
        if self._trials is None or not task.active or task.mode == "next-boot":
            return None
        macs = tuple(one.mac for one in task.wanted)
        return self._trials(self._found.folder, unit.key, host, task.uuid or "", macs)


def _results(found: Past) -> Iterator[tuple[str, Result]]:
    """How the units ended that an earlier life of the program brought to their end."""
    for unit in found.sheet.units:
        done = found.done(unit.key)
        if done is not None:
            yield unit.key, Result(done["outcome"], done.get("message", ""))


def _begun(notes: Notes) -> Task | None:
    data = notes.last("begin")
    return None if data is None else msgspec.convert(data["task"], Task)


def _begin(prepared: Prepared, notes: Notes, definitions: Definitions) -> Task | None:
    if prepared.task is None:
        return None
    definitions.keep("before", prepared.before)
    definitions.keep("goal", prepared.goal)
    notes.write("begin", task=msgspec.to_builtins(prepared.task))
    return prepared.task


def _noted(notes: Notes, result: Result) -> Result:
    notes.write("done", outcome=result.outcome, message=result.message, checks=[], downtime=None)
    return result
