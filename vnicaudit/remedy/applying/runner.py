"""Go through the units of a run, until it ends or has to stop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from functools import partial

import msgspec
from msgspec.structs import replace

from vnicaudit.base.wording import disambiguated
from vnicaudit.errors import (
    ActionError,
    GoneError,
    JournalError,
    NoResponseError,
    RefusedError,
    TargetError,
)
from vnicaudit.model.runs import RunRecord
from vnicaudit.remedy.applying.driver import (
    NOTHING_TO_DO,
    BegunUnit,
    Drivers,
    Prepared,
    rollback_command,
)
from vnicaudit.remedy.applying.history import current_record
from vnicaudit.remedy.applying.journal.events import Begin, End, Result, Undoing, UnitRequest
from vnicaudit.remedy.applying.journal.journal_file import Journal, KeptTexts
from vnicaudit.remedy.applying.journal.past_run import PastRun, reread
from vnicaudit.remedy.applying.journal.state import UnitJournal, begun_with
from vnicaudit.remedy.applying.unit_queue import Schedule, UnitQueue, in_parallel
from vnicaudit.remedy.hypervisor import Trials
from vnicaudit.remedy.replacing import UnitRefusedError, codes_of

# Locks on whatever must not be down at the same time: members of a server group, servers that share
# a volume.


class ExclusionLocks:
    """Makes those that share a name wait for each other. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._failed: dict[str, str] = {}

    @contextmanager
    def hold(self, names: Iterable[str]) -> Iterator[None]:
        """Wait until nobody else holds one of these names, and hold them. Names are always locked
        in the same order, so that no two threads wait for each other."""
        with ExitStack() as stack:
            for name in sorted(set(names)):
                stack.enter_context(self._of(name))
            yield

    def failed(self, who: str, names: Iterable[str]) -> None:
        """Record that ``who`` failed and may be down for longer."""
        with self._lock:
            self._failed.update(dict.fromkeys(names, who))

    def failed_member(self, names: Iterable[str]) -> str:
        """The unit that failed while it held one of these names; empty: none."""
        with self._lock:
            return next((self._failed[name] for name in names if name in self._failed), "")

    def _of(self, name: str) -> threading.Lock:
        with self._lock:
            return self._locks.setdefault(name, threading.Lock())


Tell = Callable[[str, str], None]
"""Is told the name of a domain and the progress on it."""

Preparing = Callable[[UnitRequest, Drivers], Prepared]
"""Prepares the change of a unit that was not started. Raises RefusedError, ActionError."""


_ALREADY = {"apply": "it is already as planned", "rollback": "it is already as before"}
_HALF_DONE = Result("unfinished")
ROLLED_BACK = "rolled back"
PARTLY_ROLLED_BACK = "partly rolled back"
"""The reason recorded when a run ends partly rolled back."""


class RunResult(msgspec.Struct, frozen=True):
    """The result of a run. ``stopped``: why it stopped before its end; empty: it did not.
    ``rolled_back``: it was left half done, and was to be undone. ``silent``: it stopped because a
    host stopped answering. ``is_lost``: of a part of it only the original is left, and only that
    can be restored."""

    run: RunRecord
    stopped: str = ""
    rolled_back: bool = False
    silent: bool = False
    is_lost: bool = False


class Runner:
    """One run. Work that an interrupted process finished is not repeated. ``tell_remaining`` is
    told what is left half done, instead of ``tell``.

    A host that stops answering ends a run that applies a plan. On the way back it leaves only its
    own unit half done: all others are still undone."""

    def __init__(
        self,
        found: PastRun,
        drivers: Drivers,
        preparing: Preparing,
        tell: Tell,
        trials: Trials | None = None,
        tell_remaining: Tell | None = None,
        halted: Callable[[], str] | None = None,
    ) -> None:
        tell = _best_effort(tell)
        self._tell_remaining = tell if tell_remaining is None else _best_effort(tell_remaining)
        self._halted = halted
        self._trials = trials
        self._found = found
        self._drivers = drivers
        self._preparing = preparing
        self._tell = tell
        self._journal = Journal(found.folder)
        self._exclusion = ExclusionLocks()
        done = {unit.key: found.result(unit.key) for unit in found.request.units}
        self._results = {key: result for key, result in done.items() if result is not None}
        """Results of units, first those that an interrupted process finished."""
        self._left_open: dict[str, Exception] = {}
        """Keys of units that the way back left half done -> why."""
        units = found.request.units
        names = disambiguated((unit.name, unit.place) for unit in units)
        self._names = {unit.key: name for unit, name in zip(units, names, strict=True)}
        """Key of a unit -> its name, with its place if other units have the same name."""
        for unit in found.request.units:
            result = self._results.get(unit.key)
            if result is not None and result.outcome == "failed":
                self._exclusion.failed(unit.name, unit.exclusive)

    def go(self, schedule: Schedule) -> RunResult:
        """Do the remaining work, batch by batch; units left half done come first, whatever the
        schedule says, as a guest may be off because of them."""
        return self._to_its_end(lambda: self._go(schedule))

    def _go(self, schedule: Schedule) -> str:
        stopped = ""
        self._finish_open()
        queue, places = self._queue(schedule), 0
        while queue.targets:
            if len(queue.targets) != places:  # another run may change the place that is left
                self._journal.sync()
                places = len(queue.targets)
            self._drivers.leave_all_but(queue.targets, self._found.request.id)
            now = datetime.fromtimestamp(self._drivers.clock.time())
            if stopped := queue.stop(now, self._halted):
                break
            units = queue.next()
            in_parallel([self._work(unit) for unit in units])
            for unit in units:
                queue.count(unit, self._results.get(unit.key, _HALF_DONE))
        self._check_open()
        self._journal.write(End(stopped))
        return stopped

    def _queue(self, schedule: Schedule) -> UnitQueue:
        """The state of the run: its remaining units, and counts of the others."""
        units, kinds = self._found.request.units, self._drivers.kinds
        queue = UnitQueue(
            schedule,
            [unit for unit in units if not kinds.by_name(unit.kind).sources],
            [unit for unit in units if kinds.by_name(unit.kind).sources],
        )
        for unit in units:
            if unit.key in self._results:
                queue.count(unit, self._results[unit.key])
        return queue

    def finish(self, keys: Collection[str]) -> RunResult:
        """Finish these units, which were left half done, and start nothing else. The run ends if
        none of it remains."""
        return self._to_its_end(lambda: self._finish(keys))

    def _finish(self, keys: Collection[str]) -> str:
        self._finish_open(keys)
        self._check_open()
        all_done = all(unit.key in self._results for unit in self._found.request.units)
        if all_done and not self._found.has_ended:
            self._journal.write(End())
        self._journal.sync()
        return ""

    def _finish_open(self, keys: Collection[str] | None = None) -> None:
        left = [unit for unit in self._found.request.units if self._found.is_open(unit.key)]
        in_parallel([self._work(unit) for unit in left if keys is None or unit.key in keys])

    def roll_back(self, keys: Collection[str]) -> RunResult:
        """Undo these units where they were started and not finished. The run ends there, unless
        other units are half done."""
        units = self._found.request.units
        lost = [one for one in units if self._found.is_lost(one.key) and one.key in keys]
        result = self._to_its_end(lambda: self._roll_back(keys, lost))
        return replace(result, rolled_back=True, is_lost=bool(lost))

    def _roll_back(self, keys: Collection[str], lost: Sequence[UnitRequest]) -> str:
        units = self._found.request.units
        for unit in reversed(units):
            if unit.key in keys and self._found.is_open(unit.key):
                self._undo_independently(unit, undo=ROLLED_BACK)
        self._journal.sync()
        for one in lost:
            self._tell(self._names[one.key], self._found.restore_hint)
        self._check_open()
        if lost:
            return f"the journal lost what was done to {lost[0].name}"
        left = [one for one in units if self._found.is_open(one.key) and one.key not in keys]
        if left:
            return f"{left[0].name} is still half changed"
        others = any(self._found.has_begun(one.key) for one in units if one.key not in keys)
        reason = PARTLY_ROLLED_BACK if others else ROLLED_BACK
        self._journal.write(End(reason, rolled_back=not others))
        return reason

    def _to_its_end(self, work: Callable[[], str]) -> RunResult:
        """Do the work, which returns why it stopped (empty: it did not), and close the journal."""
        silent = False
        try:
            stopped = work()
        except NoResponseError as error:
            stopped, silent = str(error), True
        except (KeyboardInterrupt, SystemExit):
            self._tell_unfinished()
            raise
        finally:
            self._journal.close()
        return RunResult(current_record(reread(self._found)), stopped, silent=silent)

    def _tell_unfinished(self) -> None:
        """Tell a user who interrupts a run (Ctrl-C, SIGTERM) what is half done: a guest may be off
        because of it."""
        run = current_record(reread(self._found))
        for unit in run.steps:
            if unit.outcome == "unfinished":
                self._tell_remaining(
                    unit.name, f"unfinished: {unit.message}" if unit.message else "unfinished"
                )
        after = "repeat the command to resume it"
        self._tell_remaining(
            f"run {run.id}", f"{after}, or undo it with {self._found.rollback_command()}"
        )

    def _work(self, unit: UnitRequest) -> Callable[[], None]:
        def work() -> None:
            if unit.key in self._results or unit.key in self._left_open:
                return
            if self._found.request.kind == "rollback":
                self._undo_independently(unit)
            else:
                self._results[unit.key] = self._run_unit(unit)

        return work

    def _undo_independently(self, unit: UnitRequest, *, undo: str = "") -> None:
        """Undo a unit. What ends this, even a mistake of this program, is raised when all others
        are undone, unless nothing more can be recorded."""
        try:
            self._results[unit.key] = self._run_unit(unit, undo=undo)
        except JournalError:
            raise
        except Exception as error:  # an edge: raised when the others are undone
            self._left_open[unit.key] = error

    def _check_open(self) -> None:
        """Raises why the way back left a unit half done; NoResponseError only if that is all."""
        errors = sorted(self._left_open.values(), key=lambda one: isinstance(one, NoResponseError))
        if errors:
            raise errors[0]

    def _run_unit(self, unit: UnitRequest, *, undo: str = "") -> Result:
        """Change one unit, from its present state. Raises NoResponseError if the host stopped
        answering."""
        notes = UnitJournal(self._journal, unit.key, self._found.of(unit.key))
        with self._exclusion.hold(unit.exclusive):
            result = self._unit_result(unit, notes, undo)
            if result.outcome == "failed":  # recorded before the next member of its group starts
                self._exclusion.failed(unit.name, unit.exclusive)
        message = f": {result.message}" if result.message else ""
        self._tell(self._names[unit.key], f"{result.outcome}{message}")
        return result

    def _unit_result(self, unit: UnitRequest, notes: UnitJournal, undo: str) -> Result:
        try:
            return self._carried_out(unit, notes, undo)
        except NoResponseError as error:
            self._tell(self._names[unit.key], f"unfinished: {error}")
            raise
        except GoneError as error:
            begun = notes.last(Begin) is not None
            driver = self._drivers.of(unit)
            return _record_result(
                notes, driver.result_if_gone(unit, error, begun=begun, dry_run=False)
            )
        except RefusedError as error:
            return _record_result(notes, Result("refused", str(error), codes=codes_of(error)))
        except ActionError as error:
            return _record_result(notes, Result("failed", str(error)))

    def _carried_out(self, unit: UnitRequest, notes: UnitJournal, undo: str) -> Result:
        kept = KeptTexts(self._found.folder, unit.key)
        begin = notes.last(Begin)
        if begin is None:
            begin = self._begin(unit, notes, kept)
        else:
            self._reach(unit)
        if begin is None:
            return _record_result(notes, Result("already", _ALREADY[self._found.request.kind]))
        if undo and notes.last(Undoing) is None:
            notes.write(Undoing(undo, "rolled-back"))
        run = self._found.request
        work = BegunUnit(
            unit, begin, notes, kept, self._found.folder, run.limits,
            self._drivers.clock, partial(self._tell, self._names[unit.key]), self._trials, [],
            run.plan if run.kind == "rollback" else "",
        )  # fmt: skip
        with self._exclusion.hold(begin.common().shared):
            result = _record_result(notes, self._driven(work))
            for tell in work.at_end:
                tell(result)
        return result

    def _reach(self, unit: UnitRequest) -> None:
        """Open the host of a unit that is half done. Raises NoResponseError if that is not possible
        now: the unit stays half done."""
        try:
            self._drivers.open((unit,))
        except TargetError as error:
            raise NoResponseError(f"its host does not answer: {error.message}") from None
        except RefusedError as error:
            raise NoResponseError(str(error)) from None

    def _driven(self, work: BegunUnit) -> Result:
        driver, undoing = self._drivers.of(work.unit), work.notes.last(Undoing)
        return driver.forward(work) if undoing is None else driver.undo(work, undoing)

    def _begin(self, unit: UnitRequest, notes: UnitJournal, kept: KeptTexts) -> Begin | None:
        if other := self._exclusion.failed_member(unit.exclusive):
            run, anyway = self._found.request, ""
            if run.kind == "rollback":
                words = rollback_command(run.plan, unit, self._found.folder)
                anyway = f" (to roll it back all the same: {words})"
            raise UnitRefusedError(
                f"{other}, of the same server group, failed: the rest of the server group is left "
                f"alone{anyway}",
                "group",
            )
        prepared = self._preparing(unit, self._drivers)
        if prepared.transaction is None:
            return None
        if prepared.note:
            self._tell(self._names[unit.key], prepared.note)
        if self._drivers.of(unit).keeps_texts:
            kept.keep_both(prepared.before, prepared.goal)
        begin = begun_with(prepared.transaction)
        notes.write(begin)
        return begin


def begin_nothing(unit: UnitRequest, drivers: Drivers) -> Prepared:
    """Prepares no change: a run that is only finished or undone starts no further unit."""
    del unit, drivers
    return NOTHING_TO_DO


def _best_effort(tell: Tell) -> Tell:
    """A failure to show progress (a pipe without a reader, a closed terminal) stops nothing: a
    guest may be off."""

    def tell_safely(name: str, text: str) -> None:
        with suppress(OSError, ValueError):
            tell(name, text)

    return tell_safely


def _record_result(notes: UnitJournal, result: Result) -> Result:
    notes.write(result)
    return result
