"""One flip: measured as it is, changed, measured again.

What was measured before is in the history, and its name in the run's folder: a run that was ended
in between goes on from there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from vnicaudit.bench import history
from vnicaudit.bench.history import Kept
from vnicaudit.bench.judging.order import Slot, one_by_one
from vnicaudit.bench.judging.stopping import ATTEMPTS
from vnicaudit.bench.running.arms import Arm, Opened
from vnicaudit.bench.running.measuring import Measuring, Task
from vnicaudit.bench.running.opening import Places
from vnicaudit.bench.running.run import told
from vnicaudit.bench.trials.order import AFTER, BEFORE, TrialOrder, guest_path, trial_task
from vnicaudit.errors import RefusedError, VnicauditError
from vnicaudit.model.measurement import Decision, Sample, Setup
from vnicaudit.model.runs import Outcome
from vnicaudit.remedy.applying.state import write_private
from vnicaudit.remedy.hypervisor import Hypervisor

_GUARDS = "guards"
_NOTHING = Decision(verdict="invalid", action="roll-back", reasons=("nothing was measured",))


class SingleFlip:
    """The trial of one guest; each of its NICs is measured by itself."""

    def __init__(
        self, order: TrialOrder, folder: Path, key: str, host: Hypervisor, uuid: str,
        macs: tuple[str, ...],
    ) -> None:  # fmt: skip
        self._order = order
        self._notes = [(mac, folder / f"{key}.{mac.replace(':', '')}.bench") for mac in macs]
        self._path = guest_path(host.uri, uuid, order.peer)

    def before(self) -> None:
        """Measure each NIC as it is."""
        for mac, note in self._notes:
            with ExitStack() as stack:
                opened, setups = self._open(self._places(stack), mac, BEFORE)
                kept = history.new(self._order.state)
                stack.enter_context(told(kept, self._order.listener))
                measuring = Measuring(self._task(), kept, self._order.listener)
                measuring.found([opened], setups)
                kept.write_note(_GUARDS, dict(measuring.look_before(opened)))
                measuring.warm_up([opened])
                measuring.stretch([opened], self._slots(BEFORE))
                measuring.look_after(opened, kept.note(_GUARDS))
                kept.write_head(measuring.result())
            write_private(note, kept.id.encode())

    def after(self) -> str:
        """Measure again what was measured before; why it is to be taken back."""
        decisions = [self._after(mac, kept) for mac, kept in self._kept()]
        worse = [one for one in decisions if one.action == "roll-back"]
        return "; ".join(reason for one in worse for reason in one.reasons[:3])

    def ended(self, outcome: Outcome, *, undone: bool) -> None:
        """Note what was done. It is done: that it cannot be noted must not undo it."""
        done = _done(outcome, undone=undone)
        try:
            for found in self.kept():
                head = found.head()
                if head.decision is not None:
                    found.write_head(replace(head, decision=replace(head.decision, done=done)))
        except VnicauditError as error:
            self._order.listener.says(f"what was done could not be noted: {error}")

    def kept(self) -> list[Kept]:
        """What was measured so far."""
        return [found for _mac, found in self._kept(missing_ok=True)]

    def _after(self, mac: str, kept: Kept) -> Decision:
        """Nothing is run in a guest whose guard rails the change broke, or of which enough is
        known."""
        begun = kept.result()
        if begun.workloads != self._order.profile.workloads:
            raise RefusedError(
                f"{mac} was measured before by profile {begun.run.profile}: give that"
            )
        with ExitStack() as stack:
            stack.enter_context(told(kept, self._order.listener))
            opened, setups = self._open(self._places(stack), mac, AFTER)
            measuring = Measuring(self._task(), kept, self._order.listener, begun)
            measuring.found([opened], setups)
            measuring.look_after(opened, kept.note(_GUARDS))
            slots = [] if measuring.stops() else _left(self._slots(AFTER), begun.samples)
            if slots:
                measuring.warm_up([opened])
                measuring.stretch([opened], slots)
                measuring.look_after(opened, kept.note(_GUARDS))
            result = measuring.conclude()
        return result.decision or _NOTHING

    def _places(self, stack: ExitStack) -> Places:
        return Places(stack, self._order.seed)

    def _open(self, places: Places, mac: str, arm: str) -> tuple[Opened, list[Setup]]:
        opened = places.open(self._path, self._order.line, mac)
        places.require([opened], self._order.profile.workloads)
        path = replace(opened.arm.path, name=arm)
        return opened._replace(arm=Arm(arm, path)), places.setups([opened])

    def _task(self) -> Task:
        return trial_task(self._order, "single-flip")

    def _slots(self, arm: str) -> list[Slot]:
        runs = self._task().terms.looks[-1]
        names = [workload.id for workload in self._order.profile.workloads]
        slots = one_by_one((BEFORE, AFTER), names, runs, self._order.seed)
        return [slot for slot in slots if slot.arm == arm]

    def _kept(self, *, missing_ok: bool = False) -> Iterator[tuple[str, Kept]]:
        """What was measured before. Raises RefusedError where there is nothing."""
        for mac, note in self._notes:
            if note.exists():
                yield mac, history.kept(self._order.state, note.read_text())
            elif not missing_ok:
                raise RefusedError(f"{mac} was not measured before it was changed")


def _done(outcome: Outcome, *, undone: bool) -> Literal["kept", "rolled-back", "not-rolled-back"]:
    if outcome == "applied":
        return "kept"
    return "rolled-back" if undone else "not-rolled-back"


def _left(slots: Iterable[Slot], samples: Iterable[Sample]) -> list[Slot]:
    """Those of which no run counts yet, and that were not given up."""
    tries: Counter[tuple[str, str, int]] = Counter()
    for sample in samples:
        tries[sample.workload, sample.arm, sample.block] += ATTEMPTS if sample.valid else 1
    return [slot for slot in slots if tries[slot.workload, slot.arm, slot.block] < ATTEMPTS]
