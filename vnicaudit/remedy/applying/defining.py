"""Make a definition the persistent one, and see what libvirt made of it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from vnicaudit.errors import ActionError, KeptError
from vnicaudit.remedy.applying.means import Means
from vnicaudit.remedy.applying.task import Task, unmet
from vnicaudit.remedy.definitions import likeness, reading
from vnicaudit.remedy.digests import digest


class EditedError(ActionError):
    """Somebody else has changed the definition meanwhile: it is not touched."""

    def __init__(self) -> None:
        super().__init__("somebody else changed the definition meanwhile: it was left as it is now")


def define(means: Means) -> None:
    """The goal, where the definition is what it was before; nothing where it is the goal already.

    Raises EditedError where it is neither, ActionError where libvirt does not take it, or takes it
    and does not do as it says, KeptError where what was kept of it cannot be trusted.
    """
    now = means.machine.definition(secrets=True)
    before, goal = means.kept("before"), means.kept("goal")
    as_before = likeness().same(now, before)
    if as_before and before != goal:
        means.notes.write("defining")
        means.machine.define(goal)
        now = means.machine.definition(secrets=True)
    elif not as_before and not is_ours(means.task, before, goal, now, means):
        raise EditedError
    if before not in (goal, now):
        _note(means, now)  # first: what libvirt made of it is to be known as this run's own
    _check(means.task, before, goal, now)


def _note(means: Means, now: bytes) -> None:
    if (means.notes.last("defined") or {}).get("settled") != digest(now):
        means.definitions.keep("settled", now)
        means.notes.write("defined", settled=digest(now))


def undefine(means: Means) -> bool:
    """Make the definition what it was before; whether there was anything to do. Raises EditedError
    where it is neither that nor what this run made of it, ActionError where it did not come out
    as it was, KeptError where what was kept of it cannot be trusted."""
    now = means.machine.definition(secrets=True)
    before, goal = means.kept("before"), means.kept("goal")
    if likeness().same(now, before):
        return False
    if not is_ours(means.task, before, goal, now, means):
        raise EditedError
    means.machine.define(before)
    unlike = likeness().unlike(before, means.machine.definition(secrets=True))
    if unlike:
        raise ActionError(f"the definition did not come out as it was before: {_few(unlike)}")
    return True


def made_otherwise(means: Means) -> str:
    """What libvirt made otherwise of a definition that was to come back as it was: the order of
    its controllers; empty where it made nothing otherwise."""
    if not means.task.exact or means.notes.latest("defined") is None:
        return ""
    try:
        words = likeness().rearranged(means.kept("goal"), means.kept("settled"))
    except KeptError:
        return ""  # what was done is done, and was looked at
    return f"libvirt {words}: every device is as it was, at its address" if words else ""


def is_ours(task: Task, before: bytes, goal: bytes, now: bytes, means: Means) -> bool:
    """Whether a definition that is not what it was before is what this run made of it: known by
    its digest, or, where the program was ended before it could note that, by having the goal and
    no other change."""
    settled = means.notes.last("defined")
    if likeness().same(now, goal) or (settled is not None and _is_settled(now, settled, means)):
        return True
    if settled is not None:
        return False
    return not (
        unmet(reading().definition_of(now, task.target), task.wanted)
        or reading().other_changes(before, now, task.macs)
    )


def _is_settled(now: bytes, settled: dict[str, Any], means: Means) -> bool:
    """Whether it is what libvirt made of the goal; what was kept of that only matters where
    libvirt has read it anew since, and handed it out in another order."""
    if settled.get("settled") == digest(now):
        return True
    with suppress(KeptError):
        return likeness().same(now, means.kept("settled"))
    return False


def _few(clauses: tuple[str, ...]) -> str:
    return "; ".join(clauses[:5])


def _check(task: Task, before: bytes, goal: bytes, now: bytes) -> None:
    unlike = likeness().unlike(goal, now) if task.exact else ()
    if unlike:
        raise ActionError(
            f"the definition did not come out as the one that was saved: {_few(unlike)}"
        )
    missing = unmet(reading().definition_of(now, task.target), task.wanted)
    missing += reading().other_changes(goal, now, task.macs)
    for mac in task.macs:
        missing += reading().not_taken(goal, now, mac)
    if missing and now != before:
        raise ActionError(f"accepted but not applied by libvirt: {'; '.join(missing[:5])}")
    if missing:
        raise ActionError(f"the definition is not as it was to be: {'; '.join(missing[:5])}")
