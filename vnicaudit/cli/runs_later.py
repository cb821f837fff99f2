"""``vnicaudit runs --recover`` and ``--verify``: bring back what a dead process left, and look
later at what was done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from vnicaudit.cli.apply_shadow import take_shadows_out
from vnicaudit.cli.doing import print_result, tell_damage
from vnicaudit.cli.hangup import hang_up_noted
from vnicaudit.cli.nova_manage import reach_of
from vnicaudit.cli.reading import screen
from vnicaudit.cli.remedy_options import state_folder
from vnicaudit.cli.telling import tell, telling
from vnicaudit.errors import RefusedError, SilentError, TargetError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vnicaudit.remedy.applying.engine import Order
    from vnicaudit.remedy.applying.in_effect import Later
    from vnicaudit.remedy.applying.recovering import Recovered

_WAITING = 1
"""Exit code: all is as planned, and not yet in effect everywhere."""


def recover(given: dict[str, Any]) -> int:
    """Finish what a process that died left in the middle; the exit code."""
    from vnicaudit.remedy.applying.recovering import recover as recovered
    from vnicaudit.reports.safe import safe

    take_shadows_out(given)
    codes = [0]
    with hang_up_noted():
        for one in recovered(_order(given), telling(quiet=given["quiet"])):
            tell_damage(one.damage)
            if one.at_work:
                tell(safe(f"run {one.run}: {one.at_work}"))
                continue
            for unit in one.units:
                message = f": {unit.message}" if unit.message else ""
                tell(safe(f"run {one.run}: {unit.name}: {unit.outcome}{message}"))
            if one.error is not None:
                tell(safe(f"run {one.run}: {one.error}"))
            codes.append(_code_of(one))
    return max(codes)


def _code_of(one: Recovered) -> int:
    """Exit code of a run that was brought back, or not."""
    if one.is_well:
        return 0
    failed = any(unit.outcome == "failed" for unit in one.units)
    unreachable = isinstance(one.error, (TargetError, SilentError)) and not failed
    return TargetError.exit_code if unreachable else RefusedError.exit_code


def verify(run: str, given: dict[str, Any]) -> int:
    """Look at what a run changed; the exit code."""
    from vnicaudit.remedy.applying.in_effect import in_effect
    from vnicaudit.remedy.history import past

    order = _order(given)
    found = past(order.state.run(run))
    units = [] if found is None else list(in_effect(found, order))
    if not units:
        shown = order.state.command(f"runs {run}")
        raise UsageError(f"run {run} applied nothing that could be looked at: {shown}")
    print_result(lambda: _shown(units, given))
    if any(unit.state in ("differs", "gone") for unit in units):
        return RefusedError.exit_code
    if any(unit.unreachable for unit in units):
        return TargetError.exit_code
    if any(unit.state == "unknown" for unit in units):
        return RefusedError.exit_code
    return _WAITING if any(unit.state == "waiting" for unit in units) else 0


def _shown(units: list[Later], given: dict[str, Any]) -> Iterator[str]:
    from vnicaudit.reports.paint import Paint
    from vnicaudit.reports.runs.later import render

    options = screen(given)
    return render(units, options, Paint(color=options.color))


def _order(given: dict[str, Any]) -> Order:
    from vnicaudit.remedy.applying.engine import Order
    from vnicaudit.remedy.applying.means import Limits
    from vnicaudit.remedy.applying.schedule import Schedule
    from vnicaudit.remedy.applying.state import StateFolder

    return Order(
        mode="next-boot",
        limits=Limits(),
        schedule=Schedule(),
        deadline=given["deadline"],
        state=StateFolder(state_folder(given)),
        reach=replace(reach_of(given), trusted=frozenset(given["trusted_uris"])),
        tell_left=telling(quiet=False),
    )
