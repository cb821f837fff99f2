"""Many flips: the change is made and taken back again and again, in turns.

Each flip is a run of its own, journalled and verified, with its own way back; with restarts, each
is a boot, and what boots differ by is then part of the noise and not of the effect.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from itertools import groupby
from typing import Literal, NamedTuple, Protocol

from msgspec.structs import replace

from vnicaudit.bench import history
from vnicaudit.bench.history import Kept
from vnicaudit.bench.judging.order import Slot, blocks
from vnicaudit.bench.judging.stopping import Step
from vnicaudit.bench.running.arms import Arm, Opened
from vnicaudit.bench.running.measuring import Measuring, Task
from vnicaudit.bench.running.opening import Places
from vnicaudit.bench.running.rails import Kept as Rails
from vnicaudit.bench.running.run import told
from vnicaudit.bench.trials.order import AFTER, BEFORE, TrialOrder, guest_path, trial_task
from vnicaudit.errors import VnicauditError
from vnicaudit.model.measurement import BenchResult, Decision, Design


class Flipping(Protocol):
    """Brings one guest from one state into the other."""

    def to(self, arm: str) -> None:
        """Have the guest be as before, or as after. Raises VnicauditError where it cannot be: it
        is as before then, as far as the message says."""


class Guest(NamedTuple):
    """What is flipped: one NIC of one guest. ``uri``: libvirt's, of its host."""

    uri: str
    uuid: str
    mac: str


class Flips:
    """One measurement of one NIC of one guest."""

    def __init__(self, order: TrialOrder, design: Design, guest: Guest) -> None:
        self._order = order
        self._design = design
        self._path = guest_path(guest.uri, guest.uuid, order.peer)
        self._mac = guest.mac
        self._rails: Rails = {}
        self._found: set[str] = set()

    def measure(self, flipping: Flipping) -> BenchResult:
        """Flip and measure until it is decided. The guest is left as the decision says, and as it
        was before where there is none: an error, an interruption."""
        kept = history.new(self._order.state)
        with told(kept, self._order.listener):
            measuring = Measuring(self._task(), kept, self._order.listener)
            self._look_first(measuring)
            try:
                for arm, slots in self._visits():
                    flipping.to(arm)
                    if self._visit(measuring, arm, slots).action == "stop":
                        break
                result = measuring.conclude()
            except BaseException:
                self._give_back(flipping)
                raise
            return self._left(flipping, result, kept)

    def _left(self, flipping: Flipping, result: BenchResult, kept: Kept) -> BenchResult:
        """The guest as was decided, and a note of that."""
        decision = result.decision
        if decision is None:  # two arms are always judged
            flipping.to(BEFORE)
            return result
        keep = decision.action == "keep"
        try:
            flipping.to(AFTER if keep else BEFORE)
        except BaseException:
            if keep:
                self._give_back(flipping)
            else:
                with suppress(VnicauditError):
                    kept.write_head(_noted(result, decision, "not-rolled-back"))
            raise
        result = _noted(result, decision, "kept" if keep else "rolled-back")
        kept.write_head(result)
        return result

    def _give_back(self, flipping: Flipping) -> None:
        """As before. Where that fails too, what ended it is still what is told."""
        try:
            flipping.to(BEFORE)
        except VnicauditError as error:
            self._order.listener.says(f"the guest is not as it was before: {error}")

    def _visit(self, measuring: Measuring, arm: str, slots: list[Slot]) -> Step:
        """All workloads once, between two flips."""
        with ExitStack() as stack:
            opened = self._open(stack, measuring, arm)
            measuring.warm_up([opened])
            step = measuring.stretch([opened], slots)
            measuring.look_after(opened, self._rails)
        return step

    def _look_first(self, measuring: Measuring) -> None:
        """How the guest is, before the first flip; that all tools are there."""
        with ExitStack() as stack:
            self._rails = measuring.look_before(self._open(stack, measuring, BEFORE))

    def _open(self, stack: ExitStack, measuring: Measuring, arm: str) -> Opened:
        places = Places(stack, self._order.seed)
        opened = places.open(self._path, self._order.line, self._mac)
        opened = opened._replace(arm=Arm(arm, replace(opened.arm.path, name=arm)))
        if arm not in self._found:  # what is there does not change any more
            places.require([opened], self._order.profile.workloads)
            measuring.found([opened], places.setups([opened]))
            self._found.add(arm)
        return opened

    def _visits(self) -> list[tuple[str, list[Slot]]]:
        """Which arm, and what is run in it, in order."""
        names = [workload.id for workload in self._order.profile.workloads]
        slots = blocks(
            (BEFORE, AFTER), names, self._task().terms.looks[-1], self._order.seed, arm_by_arm=True
        )
        return [
            (arm, list(run))
            for (arm, _block), run in groupby(slots, key=lambda slot: (slot.arm, slot.block))
        ]

    def _task(self) -> Task:
        return trial_task(self._order, self._design)


def _noted(
    result: BenchResult, decision: Decision, done: Literal["kept", "rolled-back", "not-rolled-back"]
) -> BenchResult:
    return replace(result, decision=replace(decision, done=done))
