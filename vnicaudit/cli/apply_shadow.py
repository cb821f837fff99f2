"""``vnicaudit apply --bench-design shadow``: measured beside the old NIC, changed when it helps."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import replace

from vnicaudit.cli.apply_bench import show_result
from vnicaudit.cli.doing import ROLLED_BACK, ended
from vnicaudit.cli.remedy_options import state_folder
from vnicaudit.cli.telling import tell, telling
from vnicaudit.errors import GoneError, RefusedError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from ipaddress import IPv4Interface

    from vnicaudit.bench.trials.order import TrialOrder
    from vnicaudit.model.measurement import BenchResult, Decision
    from vnicaudit.model.plan import Step
    from vnicaudit.remedy.applying.engine import Order
    from vnicaudit.remedy.applying.means import Result
    from vnicaudit.remedy.applying.prepare import Prepared
    from vnicaudit.remedy.applying.runner import Ended
    from vnicaudit.remedy.applying.sheet import UnitSheet
    from vnicaudit.remedy.hypervisor import Hypervisor

_DONE: dict[str, Literal["kept", "rolled-back"]] = {
    "applied": "kept",
    "rolled-back": "rolled-back",
}


def shadow_address(given: dict[str, Any]) -> IPv4Interface | None:
    """The temporary address; None where another design was asked for. Raises UsageError where one
    is given without the other."""
    text: str | None = given["shadow_address"]
    wanted = given["bench"] is not None and given["bench_design"] == "shadow"
    if not wanted and text is None:
        return None
    if not wanted or text is None:
        raise UsageError(
            "--shadow-address IP/LENGTH is the free address that --bench with --bench-design "
            "shadow measures the new NIC by, in the network of the old one: give both or neither"
        )
    from vnicaudit.bench.trials.shadow_checks import temporary_address

    return temporary_address(text)


def take_shadows_out(given: dict[str, Any]) -> None:
    """Be rid of what an ended process left in guests, and say so."""
    state = Path(state_folder(given))
    if not (state / "shadows").is_dir():
        return
    from vnicaudit.bench.trials.shadow_plug import clean_up

    trusted = frozenset(given["trusted_uris"])
    clean_up(state, given["deadline"], telling(quiet=given["quiet"]), trusted)


class Shadowing:
    """Domain by domain: measure, and carry the steps out where that says so. ``text``: the plan's
    file."""

    def __init__(
        self, steps: Sequence[Step], text: bytes, order: Order, asked: TrialOrder,
        address: IPv4Interface, given: dict[str, Any],
    ) -> None:  # fmt: skip
        self._steps = steps
        self._text = text
        self._order = order
        self._asked = asked
        self._address = address
        self._given = given
        self._tell = telling(quiet=given["quiet"])
        self._results: list[Result] = []

    def go(self) -> int:
        """The exit code. What an earlier life of the program began to change goes first: it was
        measured before it began."""
        from vnicaudit.remedy.applying.sheet import unit_sheets
        from vnicaudit.reports.safe import safe

        units = unit_sheets(self._steps)
        for unit in units:
            if len(unit.macs) != 1 or unit.uuid is None:
                raise UsageError(
                    f"--bench-design shadow is for one NIC of a domain: {unit.name} has several "
                    "in the plan, or is a file (vnicaudit plan --nic)"
                )
        codes = [0]
        for unit in sorted(units, key=lambda one: not self._begun(one)):
            if not self._begun(unit) and (stopped := self._stopped()):
                tell(safe(f"Stopped: {stopped}; {unit.name} and those behind it were not reached"))
                codes.append(RefusedError.exit_code)
                break
            codes.append(self._one_of_many(unit))
        return max(codes, key=lambda code: (code == RefusedError.exit_code, code))

    def _stopped(self) -> str:
        """Why no domain is begun any more, as in a run of all: its canary and --max-failures
        hold here, too."""
        halted = self._order.halted
        said = halted() if halted is not None else ""
        return said or self._order.schedule.stop(self._results, datetime.now())

    def _one_of_many(self, unit: UnitSheet) -> int:
        """What is refused, or gone, says nothing of the others."""
        from vnicaudit.reports.safe import safe

        try:
            return self._one(unit)
        except (RefusedError, GoneError) as error:
            tell(safe(f"{unit.name}: refused: {error}"))
            return RefusedError.exit_code

    def _one(self, unit: UnitSheet) -> int:
        from vnicaudit.remedy.applying.means import Result

        result = None if self._begun(unit) else self._measured(unit)
        decision = None if result is None else result.decision
        if result is not None and (decision is None or decision.action != "keep"):
            tell(f"Nothing was changed: {unit.name} keeps the NIC that it has.")
            return ROLLED_BACK
        done = self._applied(unit)
        self._results += [Result(one.outcome, one.message) for one in done.run.steps]
        if result is not None and decision is not None:
            (changed,) = done.run.steps
            self._noted(result, replace(decision, done=_DONE.get(changed.outcome)))
        return ended(done, self._given)

    def _applied(self, unit: UnitSheet) -> Ended:
        from vnicaudit.remedy.applying.engine import apply
        from vnicaudit.remedy.applying.sheet import steps_of

        return apply(steps_of(unit, self._steps), self._text, self._order, self._tell)

    def _measured(self, unit: UnitSheet) -> BenchResult | None:
        """None: there is nothing to change any more. Raises RefusedError where it cannot be begun,
        or not be measured."""
        from vnicaudit.bench.trials.flips import Guest
        from vnicaudit.bench.trials.shadow import Shadow
        from vnicaudit.remedy.hypervisor import connect
        from vnicaudit.remedy.trusted_uris import check_uri

        check_uri(unit.target, self._order.reach.trusted)
        host = connect(unit.target, deadline=self._order.deadline)
        with closing(host), self._order.state.held(host.key, host.name):
            prepared = self._prepared(unit, host)
            if prepared.task is None:
                return None
            if not prepared.task.active:
                raise RefusedError(f"{unit.name} is off: it cannot be measured")
            guest = Guest(unit.target, unit.uuid or "", unit.macs[0])
            result = Shadow(
                self._asked, guest, host.machine(guest.uuid), prepared.goal, self._address,
                self._tell,
            ).measure()  # fmt: skip
        if result.decision is not None and result.decision.action != "keep":
            result = self._noted(result, replace(result.decision, action="none"))
        show_result(result, self._given)
        return result

    def _prepared(self, unit: UnitSheet, host: Hypervisor) -> Prepared:
        from vnicaudit.remedy.applying.engine import refuse_beside
        from vnicaudit.remedy.applying.prepare import prepare
        from vnicaudit.remedy.applying.sheet import steps_of
        from vnicaudit.remedy.history import unfinished

        for found in unfinished(self._order.state):
            refuse_beside(found, [unit])
        steps, machine = steps_of(unit, self._steps), host.machine(unit.uuid or "")
        return prepare(steps, machine, self._order.mode, unit.key, lambda _text: None, None)

    def _begun(self, unit: UnitSheet) -> bool:
        """Whether a run of this plan was left in the middle of that domain."""
        from vnicaudit.remedy.digests import digest
        from vnicaudit.remedy.history import unfinished

        plan = digest(self._text)
        return any(
            (found.sheet.kind, found.sheet.plan, found.sheet.units) == ("apply", plan, (unit,))
            for found in unfinished(self._order.state)
        )

    def _noted(self, result: BenchResult, decision: Decision) -> BenchResult:
        """Have the measurement that is kept say so, too."""
        from vnicaudit.bench.history import kept

        decided = replace(result, decision=decision)
        kept(self._order.state.path, result.run.id).write_head(decided)
        return decided
