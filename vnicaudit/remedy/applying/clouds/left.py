"""Servers that a run stopped: for how long, and whether it has started them again."""

from __future__ import annotations

from collections.abc import Sequence

from vnicaudit.remedy.applying.clouds.task import CloudTask
from vnicaudit.remedy.applying.journal import seconds_between
from vnicaudit.remedy.applying.lines import Entry, task_of

_POWER = ("stopping", "stopped", "starting", "started")


def seconds_away(entries: Sequence[Entry]) -> float:
    """How long a server was off for this, stop by stop, and was seen to run again; 0: never. One
    that was asked to stop and did not is not counted."""
    total, began, off = 0.0, None, False
    for entry in entries:
        if entry.event == "stopping":
            began = began or entry
        elif entry.event in ("stopped", "starting"):
            off = True
        elif entry.event == "started":
            if began is not None and off:
                total += seconds_between(began, entry)
            began, off = None, False
    return total


def may_be_off(entries: Sequence[Entry]) -> str:
    """What to do by hand about a server that ran, was stopped by this run and has not been seen to
    run since; empty: nothing."""
    task = task_of(entries)
    power = [entry.event for entry in entries if entry.event in _POWER]
    if not isinstance(task, CloudTask) or not task.active or not power or power[-1] == "started":
        return ""
    return f"it ran before and may be off now; by hand: {task.command('server start')}"
