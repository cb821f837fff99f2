"""Go through the units of a run, until it ends or has to stop."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from datetime import datetime

import msgspec

from vnicaudit.errors import ActionError, GoneError, RefusedError, SilentError
from vnicaudit.model.runs import RunRecord
from vnicaudit.remedy.applying.apart import Apart
from vnicaudit.remedy.applying.cautious import Cautious
from vnicaudit.remedy.applying.clouds.means import CloudMeans
from vnicaudit.remedy.applying.clouds.task import CloudTask
from vnicaudit.remedy.applying.clouds.unit import carry_out as carry_out_in_cloud
from vnicaudit.remedy.applying.clouds.unit import give_up as give_up_in_cloud
from vnicaudit.remedy.applying.files import FileMeans, carry_out_file
from vnicaudit.remedy.applying.gone import what_became
from vnicaudit.remedy.applying.hosts import Hosts
from vnicaudit.remedy.applying.journal import Journal
from vnicaudit.remedy.applying.lines import task_of
from vnicaudit.remedy.applying.means import Definitions, Means, Notes, Result
from vnicaudit.remedy.applying.prepare import Prepared
from vnicaudit.remedy.applying.schedule import Schedule, side_by_side
from vnicaudit.remedy.applying.sheet import UnitSheet
from vnicaudit.remedy.applying.task import Task
from vnicaudit.remedy.applying.unit import carry_out, give_up
from vnicaudit.remedy.history import TAKEN_BACK, Past, shown_now
from vnicaudit.remedy.hypervisor import Hypervisor
from vnicaudit.remedy.trial import Trial, Trials

Tell = Callable[[str, str], None]
"""Is told the name of a domain and what happens to it."""

Preparing = Callable[[UnitSheet, Hosts], Prepared]
"""What is to be done to one unit that was not begun. Raises RefusedError, ActionError."""


_SO = {"apply": "it is as planned already", "rollback": "it is as before already"}
_NOTHING = "nothing is left to do"
SOME_TAKEN_BACK = "some of it was taken back"
"""Why a run is over of which something else holds."""


class Ended(msgspec.Struct, frozen=True):
    """How a run went. ``stopped``: why it did not go on to its end; empty: it did.
    ``taken_back``: it had been left in the middle, and what was begun of it was to be undone.
    ``silent``: it stopped since a host did not answer any more. ``lost``: of something of it
    nothing but the original is known any more: only that can be put back."""

    run: RunRecord
    stopped: str = ""
    taken_back: bool = False
    silent: bool = False
    lost: bool = False


class Runner:
    """One run. What an earlier life of the program did of it is not done again. ``tell_left`` is
    told what is left in the middle, in the place of ``tell``."""

    def __init__(
        self,
        found: Past,
        hosts: Hosts,
        preparing: Preparing,
        tell: Tell,
        trials: Trials | None = None,
        tell_left: Tell | None = None,
        halted: Callable[[], str] | None = None,
    ) -> None:
        tell = _best_effort(tell)
        self._tell_left = tell if tell_left is None else _best_effort(tell_left)
        self._halted = halted or (lambda: "")
        self._trials = trials
        self._found = found
        self._hosts = hosts
        self._preparing = preparing
        self._tell = tell
        self._journal = Journal(found.folder)
        self._apart = Apart()
        self._results = dict(_results(found))
        for unit in found.sheet.units:
            if unit.key in self._results and self._results[unit.key].outcome == "failed":
                self._apart.failed(unit.name, unit.apart)

    def go(self, schedule: Schedule) -> Ended:
        """Do what is left to do, batch by batch; first what an earlier life left in the middle,
        whatever the schedule says: a guest may be off for it."""
        stopped, silent = self._to_its_end(lambda: self._go(schedule))
        return Ended(shown_now(self._found), stopped, silent=silent)

    def _go(self, schedule: Schedule) -> str:
        stopped, units = "", self._found.sheet.units
        self._finish_open()
        while left := [unit for unit in units if unit.key not in self._results]:
            done = [unit for unit in units if unit.key in self._results]
            guests = [self._results[unit.key] for unit in done if unit.guest]
            sources = [self._results[unit.key] for unit in done if not unit.guest]
            if stopped := self._halted() or schedule.stop(guests, datetime.now(), sources):
                break
            first = [unit for unit in left if not unit.guest][:1]
            side_by_side([self._work(unit) for unit in first or schedule.next(left, guests)])
        self._journal.write("end", stopped=stopped)
        return stopped

    def finish(self, keys: Collection[str]) -> Ended:
        """Bring to its end what was left in the middle of these units; nothing else is begun. The
        run is ended where nothing is left of it."""
        stopped, silent = self._to_its_end(lambda: self._finish(keys))
        return Ended(shown_now(self._found), stopped, silent=silent)

    def _finish(self, keys: Collection[str]) -> str:
        self._finish_open(keys)
        all_done = all(unit.key in self._results for unit in self._found.sheet.units)
        if all_done and not self._found.ended:
            self._journal.write("end", stopped="")
        return ""

    def _finish_open(self, keys: Collection[str] | None = None) -> None:
        left = [unit for unit in self._found.sheet.units if self._found.is_open(unit.key)]
        side_by_side([self._work(unit) for unit in left if keys is None or unit.key in keys])

    def take_back(self, keys: Collection[str]) -> Ended:
        """Undo what of these units was begun and not finished. The run is ended there, unless
        something else of it is in the middle."""
        units = self._found.sheet.units
        lost = [one for one in units if self._found.is_lost(one.key) and one.key in keys]
        reason, silent = self._to_its_end(lambda: self._take_back(keys, lost))
        run = shown_now(self._found)
        return Ended(run, reason, taken_back=True, silent=silent, lost=bool(lost))

    def _take_back(self, keys: Collection[str], lost: Sequence[UnitSheet]) -> str:
        units = self._found.sheet.units
        for unit in reversed(units):
            if unit.key in keys and self._found.is_open(unit.key):
                self._one(unit, undo=TAKEN_BACK)
        for one in lost:
            self._tell(one.name, self._found.told_lost)
        if lost:
            return f"what was done to {lost[0].name} is not known any more"
        left = [one for one in units if self._found.is_open(one.key) and one.key not in keys]
        if left:
            return f"{left[0].name} is still in the middle"
        others = any(self._found.begun(one.key) for one in units if one.key not in keys)
        reason = SOME_TAKEN_BACK if others else TAKEN_BACK
        self._journal.write("end", stopped=reason)
        return reason

    def _to_its_end(self, work: Callable[[], str]) -> tuple[str, bool]:
        """Do it, and let the journal go: why it stopped, and whether since a host did not answer
        any more."""
        try:
            return work(), False
        except SilentError as error:
            return str(error), True
        except (KeyboardInterrupt, SystemExit):
            self._say_what_is_left()
            raise
        finally:
            self._journal.close()

    def _say_what_is_left(self) -> None:
        """To whoever interrupts a run (Ctrl-C, SIGTERM): a guest may be off for it."""
        run = shown_now(self._found)
        for unit in run.steps:
            if unit.outcome == "unfinished":
                self._tell_left(
                    unit.name, f"unfinished: {unit.message}" if unit.message else "unfinished"
                )
        after = "the same command goes on with it"
        self._tell_left(f"run {run.id}", f"{after}, {self._found.way_back()} takes it back")

    def _work(self, unit: UnitSheet) -> Callable[[], None]:
        def work() -> None:
            if unit.key not in self._results:
                self._results[unit.key] = self._one(unit)

        return work

    def _one(self, unit: UnitSheet, *, undo: str = "") -> Result:
        """Do one unit, from where it is. Raises SilentError where the host stopped answering."""
        notes = Notes(self._journal, unit.key, self._found.of(unit.key))
        with self._apart.held(unit.apart):
            result = self._ended(unit, notes, undo)
            if result.outcome == "failed":  # to be known before the next one of its group begins
                self._apart.failed(unit.name, unit.apart)
        message = f": {result.message}" if result.message else ""
        self._tell(unit.name, f"{result.outcome}{message}")
        return result

    def _ended(self, unit: UnitSheet, notes: Notes, undo: str) -> Result:
        try:
            return self._carried_out(unit, notes, undo)
        except SilentError:
            raise
        except GoneError as error:
            return _noted(notes, self._gone(unit, notes, error))
        except RefusedError as error:
            return _noted(notes, Result("refused", str(error)))
        except ActionError as error:
            return _noted(notes, Result("failed", str(error)))

    def _gone(self, unit: UnitSheet, notes: Notes, error: GoneError) -> Result:
        if unit.kind != "domain":
            return Result("gone", f"{error}: {_NOTHING}")
        return what_became(unit, self._hosts, begun=notes.last("begin") is not None)

    def _carried_out(self, unit: UnitSheet, notes: Notes, undo: str) -> Result:
        if unit.object is not None:
            return self._in_cloud(unit, notes, undo)
        definitions = Definitions(self._found.folder, unit.key)
        host = self._hosts.of(unit)
        begun = task_of(notes.entries())
        if isinstance(begun, Task):
            task: Task | None = begun
        else:
            task = _begin(self._preparing(unit, self._hosts), notes, definitions)
        if task is None:
            return _noted(notes, Result("already", _SO[self._found.sheet.kind]))
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

    def _in_cloud(self, unit: UnitSheet, notes: Notes, undo: str) -> Result:
        place = self._hosts.place_of(unit)
        begun = task_of(notes.entries())
        task = begun if isinstance(begun, CloudTask) else self._begin_in_cloud(unit, notes)
        if task is None:
            return _noted(notes, Result("already", _SO[self._found.sheet.kind]))
        means = CloudMeans(
            place.cloud, place.manage, place.nodes, task, notes, self._found.sheet.limits,
            lambda text: self._tell(unit.name, text),
        )  # fmt: skip
        with self._apart.held(task.shared):
            return give_up_in_cloud(means, undo) if undo else carry_out_in_cloud(means)

    def _begin_in_cloud(self, unit: UnitSheet, notes: Notes) -> CloudTask | None:
        if other := self._apart.unwell(unit.apart):
            raise RefusedError(
                f"{other}, of the same server group, failed: what they share may hang on this one"
            )
        task = self._preparing(unit, self._hosts).task
        if not isinstance(task, CloudTask):
            return None
        if task.active and task.state != "ACTIVE":
            self._tell(unit.name, "an earlier run left it off: it is started in the end")
        Definitions(self._found.folder, unit.key).keep_task(task)
        notes.write("begin", task=msgspec.to_builtins(task))
        return task

    def _trial(self, unit: UnitSheet, host: Hypervisor, task: Task) -> Trial | None:
        """There is nothing to measure where the guest is left alone."""
        if self._trials is None or not task.active or task.mode == "next-boot":
            return None
        macs = tuple(one.mac for one in task.wanted)
        trial = self._trials(self._found.folder, unit.key, host, task.uuid or "", macs)
        return Cautious(trial, lambda text: self._tell(unit.name, text))


def _best_effort(tell: Tell) -> Tell:
    """Whoever cannot be told any more (a pipe without a reader, a closed terminal) stops nothing: a
    guest may be off."""

    def told(name: str, text: str) -> None:
        with suppress(OSError, ValueError):
            tell(name, text)

    return told


def _results(found: Past) -> Iterator[tuple[str, Result]]:
    """How the units ended that an earlier life of the program brought to their end."""
    for unit in found.sheet.units:
        done = found.done(unit.key)
        if done is not None:
            yield unit.key, Result(done["outcome"], done.get("message", ""))


def _begin(prepared: Prepared, notes: Notes, definitions: Definitions) -> Task | None:
    if not isinstance(prepared.task, Task):
        return None
    definitions.keep("before", prepared.before)
    definitions.keep("goal", prepared.goal)
    definitions.keep_task(prepared.task)
    notes.write("begin", task=msgspec.to_builtins(prepared.task))
    return prepared.task


def _noted(notes: Notes, result: Result) -> Result:
    notes.write("done", outcome=result.outcome, message=result.message, checks=[], downtime=None)
    return result
