"""Domains of live hosts: redefine, restart or hot-swap, then check; and the way back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial

from msgspec.structs import replace

from vnicaudit.errors import ActionError, GoneError, JournalError
from vnicaudit.model.plan import Mode, Step
from vnicaudit.model.runs import UnitState
from vnicaudit.platforms.domain_xml import definitions
from vnicaudit.platforms.domain_xml.source import interface_number, interface_of, with_interface
from vnicaudit.remedy.applying.domains import driving
from vnicaudit.remedy.applying.domains.checks import DomainChecks, guest_before
from vnicaudit.remedy.applying.domains.definition_transactions import (
    DefinitionTransaction,
    DomainPlace,
    DomainWork,
    GuestBefore,
    is_settled,
    kept_original,
    original_of,
    reversed_transaction,
    runs_with,
    unmet,
)
from vnicaudit.remedy.applying.domains.driving import note_outcome, restart_stopped_guest
from vnicaudit.remedy.applying.domains.prepare import (
    check_owner,
    check_restart,
    check_state,
    prepare,
)
from vnicaudit.remedy.applying.driver import (
    NOTHING_TO_DO,
    BegunUnit,
    PlaceDriver,
    Prepared,
    PrepareRequest,
    UndoRequest,
    failed,
)
from vnicaudit.remedy.applying.journal.events import (
    Begin,
    Defined,
    NicChanges,
    Result,
    Undoing,
    UnitRequest,
    unit_of,
)
from vnicaudit.remedy.applying.journal.journal_file import KeptTexts
from vnicaudit.remedy.applying.journal.past_run import PastRun
from vnicaudit.remedy.hypervisor import Hypervisor, Machine
from vnicaudit.remedy.replacing import UnitRefusedError, check_uri, digest, short_digest

_WAITS = (
    "it still runs with its old NIC: power it off and start it again (a reboot inside the guest "
    "is not enough)"
)
_NOWHERE = (
    "the domain is no longer on its host, nor on another host of this run: it was undefined, or "
    "moved to a host outside the run (make a plan there)"
)
_NOT_HERE = (
    "the domain is no longer on its host: it was undefined, or moved (make a plan where it is now)"
)
_MIDDLE = "; this happened in the middle of the change: its old definition is saved with the run"
_ONLY_RAN = (
    "the run did not change its definition, and only restarted the guest with it: there is "
    "nothing to put back"
)
_EDITED = (
    "somebody has changed the definition since: check it (virsh dumpxml --inactive), then restore "
    "only the NIC with --over-edits"
)


class DomainDriver(PlaceDriver[Hypervisor]):
    """Changes domains of the hosts that one command reaches."""

    kind = "domain"
    keeps_texts = True
    may_move = True

    @classmethod
    def key(cls, step: Step) -> str:
        """The UUID with the target: after a migration that left its definition behind, two hosts
        may have a domain of one UUID."""
        return f"{step.about.id}-{short_digest(step.target.encode(), 8)}"

    @classmethod
    def unit(cls, key: str, steps: tuple[Step, ...]) -> UnitRequest:
        """The domain."""
        return unit_of(key, steps, cls.kind, steps[0].about.name or "")

    def check(self, unit: UnitRequest) -> None:
        """Raises RefusedError for a URI that may start a program, unless the user named it."""
        check_uri(unit.target, self._session.reach.trusted)

    def connected(self, target: str, until: ExitStack) -> Hypervisor:
        """The host, locked against other runs, of this machine and elsewhere."""
        host = self._adapters.connect(target, deadline=self._session.deadline)
        until.callback(host.close)
        self._session.hold(host.key, host.name, until, host)
        return host

    def prepare(
        self, unit: UnitRequest, steps: tuple[Step, ...], request: PrepareRequest
    ) -> Prepared:
        """The change that the steps make to the domain's definition."""

        def earlier(current: bytes) -> bytes | None:
            """The original of a definition that an earlier run of this plan made; None if no run
            made it."""
            for run in request.earlier():
                if is_made_by(run, unit.key, current):
                    return original_of(run, unit, run.transaction(unit.key, DefinitionTransaction))
            return None

        host, machine = self._places[unit.target], self._machine(unit)
        return prepare(steps, machine, request.mode, earlier, self._adapters, local=host.local)

    def prepare_undo(self, unit: UnitRequest, request: UndoRequest) -> Prepared:
        """The change that reverses what an earlier run did to a domain; without a transaction where
        the domain is already as it was. Raises RefusedError with the reason if it cannot be
        started."""
        transaction = request.transaction(unit, DefinitionTransaction)
        if transaction.before == transaction.goal:
            raise UnitRefusedError(_ONLY_RAN, "whole-only")
        original, machine = original_of(request.run, unit, transaction), self._machine(unit)
        state = machine.state()
        check_state(state, request.mode)
        if state.active and request.mode == "restart":
            check_restart(definitions.power_off_action(machine.live()))
        wanted = transaction.nic_changes
        current = machine.definition(secrets=True)
        if definitions.equal_but_controllers(current, original):
            original = current  # libvirt chooses the order of controllers
        elif not request.over_edits and not any(
            is_made_by(run, unit.key, current) for run in request.since()
        ):
            raise UnitRefusedError(_EDITED, "edited")
        goal = original
        whole = is_made_by(request.run, unit.key, current)
        if not whole and current != original:
            goal = _nics_put_back(current, original, wanted)
        made = reversed_transaction(transaction, current, goal)
        seen = guest_before(
            machine, made.macs, request.mode, self._adapters.clock, active=state.active
        )
        ended = request.run.result(unit.key)
        stays_off = transaction.active and ended is not None and not ended.undone
        active = state.active or stays_off
        if current == goal and not (active and request.mode != "next-boot"):
            return NOTHING_TO_DO
        made = replace(made, mode=request.mode, active=active, guest_before=seen, exact=whole)
        return Prepared(made, current, goal)

    def prepare_restore(self, unit: UnitRequest, request: UndoRequest) -> Prepared:
        """The change that restores the whole saved definition."""
        transaction, original = kept_original(request.run, unit)
        machine = self._machine(unit)
        domain = definitions.definition_of(original, unit.target)
        if domain.uuid != unit.uuid:
            raise UnitRefusedError(
                f"the saved original belongs to another domain, {domain.uuid}", "kept-original"
            )
        state = machine.state()
        check_owner(definitions.definition_of(machine.definition(secrets=False), unit.target))
        changes = () if transaction is None else transaction.nic_changes
        wanted = tuple(one.inverse() for one in reversed(changes))
        if unmet(domain, wanted):
            wanted = ()
        mode: Mode = request.mode if wanted else "next-boot"
        check_state(state, mode)
        if state.active and mode == "restart":
            check_restart(definitions.power_off_action(machine.live()))
        current = machine.definition(secrets=True)
        ran = transaction is not None and transaction.active
        active = state.active or (ran and request.run.is_open(unit.key))
        macs = tuple(one.mac for one in wanted)
        seen = guest_before(machine, macs, mode, self._adapters.clock, active=state.active)
        is_so = definitions.equal_but_controllers(current, original)
        if is_so and not (active and mode != "next-boot"):
            return NOTHING_TO_DO
        made = DefinitionTransaction(
            mode, wanted, active, before=digest(current), goal=digest(original), guest_before=seen,
            exact=True,
        )  # fmt: skip
        return Prepared(made, current, original)

    def forward(self, work: BegunUnit) -> Result:
        """Redefine the domain, have that take effect, and check the running guest."""
        with self._at_work(work) as at_work:
            return driving.forward(at_work)

    def undo(self, work: BegunUnit, undoing: Undoing) -> Result:
        """Restore the domain's definition and NICs from before the run."""
        with self._at_work(work) as at_work:
            return driving.undo(at_work, undoing.reason, undoing.outcome)

    def present_state(self, unit: UnitRequest, begin: Begin) -> UnitState:
        """The state of the definition and of the running guest, compared with the planned
        changes."""
        transaction = begin.of(DefinitionTransaction)
        machine = self._machine(unit)
        wanted, target = transaction.nic_changes, unit.target
        if missing := unmet(
            definitions.definition_of(machine.definition(secrets=False), target), wanted
        ):
            why = f"the definition has been changed since: {'; '.join(missing)}"
            return UnitState(unit.name, "differs", why)
        if not machine.state().active:
            return UnitState(unit.name, "waiting", "it is off: in effect at its next start")
        if not runs_with(machine, target, wanted):
            return UnitState(unit.name, "waiting", _WAITS)
        place = DomainPlace(self._places[unit.target], machine, self._adapters)
        now, hot = GuestBefore(agent=place.agent.answers()), transaction.mode == "hotswap"
        checks = DomainChecks(place, wanted, now, hot=hot).results().checks
        bad = failed(checks)
        return UnitState(unit.name, "differs" if bad else "in-effect", bad, checks)

    def result_if_gone(
        self, unit: UnitRequest, error: GoneError, *, begun: bool, dry_run: bool
    ) -> Result:
        """``gone``; for a domain that is now on another host of the run, ``refused`` if its change
        was not started, else ``failed``: its owner has to check which definition it has there."""
        del error, dry_run
        place = self._elsewhere(unit)
        if place is None:
            nowhere = _NOT_HERE if self._session.host_by_host else _NOWHERE
            return Result("gone", nowhere + (_MIDDLE if begun else ""))
        if begun:
            why = f"it moved to {place} in the middle of the change: check it there"
            return Result("failed", why)
        why = f"it is now on {place}: make a plan there"
        return Result("refused", why, codes=("moved",))

    def _machine(self, unit: UnitRequest) -> Machine:
        return self._places[unit.target].machine(unit.uuid or "")

    @contextmanager
    def _at_work(self, work: BegunUnit) -> Iterator[DomainWork]:
        """The domain and its trial. If an action could not be recorded, a guest that was stopped is
        started again."""
        host = self._places[work.unit.target]
        place = DomainPlace(host, host.machine(work.unit.uuid or ""), self._adapters)
        made = work.at(place, DefinitionTransaction)
        transaction = made.transaction
        interrupts = transaction.active and transaction.mode != "next-boot"
        if work.trials is not None and interrupts:  # else there is nothing to measure
            uuid, macs = work.unit.uuid or "", transaction.macs
            trial = work.trials(work.folder, work.unit.key, host, uuid, macs)
            work.at_end.append(partial(note_outcome, made, trial))
            made = replace(made, place=place._replace(trial=trial))
        try:
            yield made
        except JournalError:
            restart_stopped_guest(made)
            raise

    def _elsewhere(self, unit: UnitRequest) -> str | None:
        """The URI of another host of this run that has the domain; None if no such host is
        known."""
        for target, host in tuple(self._places.items()):
            if target == unit.target or host.key == self._places[unit.target].key:
                continue
            with suppress(ActionError):
                host.machine(unit.uuid or "")
                return target
        return None


def is_made_by(found: PastRun, key: str, current: bytes) -> bool:
    """True if ``current`` is the definition that the run made for this domain."""
    lines = (entry.event for entry in found.of(key))
    made = [event.settled for event in lines if isinstance(event, Defined)]
    if not made:
        return _is_applied_goal(found, key, current)
    return digest(current) in made or is_settled(KeptTexts(found.folder, key), made[-1], current)


def _is_applied_goal(found: PastRun, key: str, current: bytes) -> bool:
    """True if ``current`` is exactly what the run was to define, and the run says that it did so:
    only the line with what libvirt made of it is lost."""
    ended, begin = found.result(key), found.begin(key)
    if ended is None or ended.outcome != "applied" or begin is None:
        return False
    transaction = begin.of(DefinitionTransaction)
    return digest(current) == transaction.goal != transaction.before


def _nics_put_back(current: bytes, original: bytes, wanted: Iterable[NicChanges]) -> bytes:
    for one in wanted:
        number = interface_number(current, one.mac)
        if number is None:
            raise UnitRefusedError(f"there is no longer exactly one NIC {one.mac}", "edited")
        old = interface_number(original, one.mac)
        if old is None:
            raise UnitRefusedError(
                f"the saved definition does not have exactly one NIC {one.mac}", "kept-original"
            )
        current = with_interface(current, number, interface_of(original, old))
    return current
