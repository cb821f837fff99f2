"""A single flip: measured before the change, changed, measured again; these are the trials of a run
of ``apply``.

The first measurement is in the history, and its name in the run's folder: an interrupted run is
resumed from there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from vnicaudit.base.files import write_private
from vnicaudit.bench import history
from vnicaudit.bench.history import StoredMeasurement
from vnicaudit.bench.judging.stopping import ATTEMPTS, Slot, one_by_one
from vnicaudit.bench.profiles.profile import Profile
from vnicaudit.bench.running.collector import MeasurementTerms
from vnicaudit.bench.running.measuring import Measuring
from vnicaudit.bench.running.opening import OpenedArm, OpenedEndpoints
from vnicaudit.bench.running.run import reporting_where_stored
from vnicaudit.bench.trials.request import AFTER, BEFORE, TrialRequest, trial_terms
from vnicaudit.errors import RefusedError, VnicauditError
from vnicaudit.model.measurement import Decision, Sample
from vnicaudit.model.runs import Outcome
from vnicaudit.remedy.hypervisor import Hypervisor

_GUARDS = "guards"
_NOTHING = Decision(verdict="invalid", action="roll-back", reasons=("nothing was measured",))


class SingleFlip:
    """The trial of one guest; each of its NICs is measured by itself."""

    def __init__(
        self, request: TrialRequest, folder: Path, key: str, host: Hypervisor, uuid: str,
        macs: tuple[str, ...],
    ) -> None:  # fmt: skip
        self._request = request
        self._notes = [(mac, folder / f"{key}.{mac.replace(':', '')}.bench") for mac in macs]
        self._path = request.path_into(host.uri, uuid, request.peer)

    def before(self) -> None:
        """Measure each NIC before the change."""
        for mac, note in self._notes:
            with ExitStack() as stack:
                places = self._request.places(stack, self._request.listener.says)
                opened = self._open(places, mac, BEFORE)
                profile = self._request.profile
                self._request.prepare(opened)
                places.require([opened], profile.workloads)
                kept = history.new_measurement(self._request.state)
                stack.enter_context(reporting_where_stored(kept, self._request.listener))
                measuring = Measuring(self._terms(profile), kept, self._request.listener)
                measuring.note_setups([opened], places.setups([opened]), places.labels([opened]))
                kept.write_note(_GUARDS, dict(measuring.rail_states(opened)))
                measuring.warm_up([opened])
                measuring.stretch([opened], self._slots(BEFORE))
                measuring.check_rails(opened, kept.note(_GUARDS))
                kept.write_head(measuring.result())
            write_private(note, kept.id.encode())

    def after(self) -> str:
        """Measure again; returns why the change is to be undone."""
        decisions = [self._decision_after(mac, kept) for mac, kept in self._stored_by_mac()]
        worse = [one for one in decisions if one.action == "roll-back"]
        return "; ".join(reason for one in worse for reason in one.reasons[:3])

    def note_outcome(self, outcome: Outcome, *, undone: bool) -> None:
        """Record what was done. A failure to record it must not undo it."""
        done = _done_with_change(outcome, undone=undone)
        try:
            for found in self.measurements():
                head = found.head()
                if head.decision is not None:
                    found.write_head(replace(head, decision=replace(head.decision, done=done)))
        except VnicauditError as error:
            self._request.listener.says(f"the result could not be recorded: {error}")

    def measurements(self) -> list[StoredMeasurement]:
        """The measurements that were started so far."""
        return [found for _mac, found in self._stored_by_mac(missing_ok=True)]

    def _decision_after(self, mac: str, kept: StoredMeasurement) -> Decision:
        """Decide on one NIC. Nothing is run in a guest whose guard rails the change broke, or of
        which enough is known."""
        begun = kept.result()
        profile = self._request.profile
        if begun.workloads != profile.workloads:
            raise RefusedError(
                f"{mac} was measured before the change with profile {begun.run.profile}: use that "
                "one"
            )
        with ExitStack() as stack:
            stack.enter_context(reporting_where_stored(kept, self._request.listener))
            places = self._request.places(stack, self._request.listener.says)
            opened = self._open(places, mac, AFTER)
            places.require([opened], begun.workloads)
            terms = self._terms(replace(profile, workloads=begun.workloads))
            measuring = Measuring(terms, kept, self._request.listener, begun)
            measuring.note_setups([opened], places.setups([opened]), places.labels([opened]))
            measuring.check_rails(opened, kept.note(_GUARDS))
            slots = [] if measuring.stops() else _remaining(self._slots(AFTER), begun.samples)
            if slots:
                measuring.warm_up([opened])
                measuring.stretch([opened], slots)
                measuring.check_rails(opened, kept.note(_GUARDS))
            result = measuring.conclude()
        return result.decision or _NOTHING

    def _open(self, places: OpenedEndpoints, mac: str, arm: str) -> OpenedArm:
        self._request.listener.prepares(f"connecting to the guest of {mac}, {arm}")
        return places.open(self._path, self._request.profile, mac).renamed(arm)

    def _terms(self, profile: Profile) -> MeasurementTerms:
        return trial_terms(self._request._replace(profile=profile), "single-flip")

    def _slots(self, arm: str) -> list[Slot]:
        profile = self._request.profile
        runs = self._terms(profile).terms.looks[-1]
        names = [workload.id for workload in profile.workloads]
        slots = one_by_one((BEFORE, AFTER), names, runs, self._request.seed)
        return [slot for slot in slots if slot.arm == arm]

    def _stored_by_mac(
        self, *, missing_ok: bool = False
    ) -> Iterator[tuple[str, StoredMeasurement]]:
        """Stored measurements made before the change, with the NIC's MAC address. Raises
        RefusedError if one is missing, unless ``missing_ok``."""
        for mac, note in self._notes:
            if note.exists():
                yield mac, history.stored_measurement(self._request.state, note.read_text())
            elif not missing_ok:
                raise RefusedError(f"{mac} was not measured before it was changed")


def _done_with_change(
    outcome: Outcome, *, undone: bool
) -> Literal["kept", "rolled-back", "not-rolled-back"]:
    if outcome == "applied":
        return "kept"
    return "rolled-back" if undone else "not-rolled-back"


def _remaining(slots: Iterable[Slot], samples: Iterable[Sample]) -> list[Slot]:
    """Slots whose run neither counts yet nor was given up."""
    tries: Counter[tuple[str, str, int]] = Counter()
    for sample in samples:
        tries[sample.workload, sample.arm, sample.block] += ATTEMPTS if sample.valid else 1
    return [slot for slot in slots if tries[slot.workload, slot.arm, slot.block] < ATTEMPTS]


class TrialFactory:
    """Makes a trial for each guest (:data:`vnicaudit.remedy.hypervisor.Trials`), and keeps their
    measurements."""

    def __init__(self, request: TrialRequest) -> None:
        self._request = request
        self._made: list[SingleFlip] = []

    def __call__(
        self, folder: Path, key: str, host: Hypervisor, uuid: str, macs: tuple[str, ...]
    ) -> SingleFlip:
        trial = SingleFlip(self._request, folder, key, host, uuid, macs)
        self._made.append(trial)
        return trial

    def measurements(self) -> Iterator[StoredMeasurement]:
        """Measurements of all trials, in order."""
        for trial in self._made:
            yield from trial.measurements()
