"""The output of ``vnicaudit plan``, on the screen and in a file. Files of other kinds are never
overwritten."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from vnicaudit.base.files import open_descriptor
from vnicaudit.base.opening import as_usage_error, open_regular
from vnicaudit.base.wording import count, path_word
from vnicaudit.cli.options.output import OutputOptions, screen_options
from vnicaudit.cli.output.files import ReportOutput, emit, flush, has_another, write_files
from vnicaudit.cli.output.progress import tell
from vnicaudit.errors import UsageError
from vnicaudit.model.ranking import NO_HISTORY, PlanHistory
from vnicaudit.reports.plan import to_json
from vnicaudit.reports.plan.steps import PlanGroupBy
from vnicaudit.reports.plan.text import render
from vnicaudit.reports.safe import safe, wrap
from vnicaudit.text.targets import unsafe_parts

if TYPE_CHECKING:
    from vnicaudit.model.plan import Plan

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")
_NO_FILES = "No file was written: no step has one for an owner"
_PLAN_HEAD = 100
"""Bytes in which a plan names its schema."""


def holds_plan(path: str | None) -> bool:
    """True if a file holds a plan that would be lost by writing."""
    try:
        return path is not None and os.path.getsize(path) > 0 and _is_plan(path)
    except OSError:
        return False


def write_plan(path: str, text: bytes) -> None:
    """Write a plan, replacing an earlier plan but no other file. Only this user can read or write
    it, since it decides what is changed on hosts. A link is replaced, not followed, unless it leads
    to an open file of this process (``/dev/stdout``)."""
    with as_usage_error(path):
        is_file = os.path.isfile(path) and open_descriptor(path) is None
        if is_file and not _is_plan(path):
            raise UsageError(f"{path} exists and is not a plan: choose another name")
    with ReportOutput(path, private=True) as output:
        output.write(text.decode())


def write_owner_files(plan: Plan, folder: str) -> None:
    """Write what the owners are given: a folder for each target, a file for each object."""
    texts: dict[str, str] = {}
    for step in plan.steps:
        for file in step.files:
            names = map(_as_name, (step.target, *file.name.split("/")))
            place = os.path.join(folder, *names)
            if texts.setdefault(place, file.text) != file.text:
                raise has_another(place, folder)
    write_files(texts, folder)
    what = count(len(texts), "file")
    tell(f"{what} for the owners in {safe(folder)}: review them" if texts else _NO_FILES)


def _as_name(text: str) -> str:
    """A name of a file or folder that is the same everywhere, and never hidden or ``..``."""
    return _NOT_IN_NAMES.sub("-", text).strip("-.") or "unnamed"


def _is_plan(path: str) -> bool:
    """True if a file starts like a plan, of any version, or is empty."""
    with open_regular(path) as stream:
        head = stream.read(_PLAN_HEAD)
    return not head or b'"schema": "vnicaudit.plan/' in head


_NOT_OVERWRITTEN = (
    "was not overwritten: some targets could not be read, and the new plan would be empty"
)


def print_plan(
    plan: Plan,
    path: str | None,
    group_by: PlanGroupBy | None,
    output: OutputOptions,
    next_command: Callable[[str], str],
    *,
    diff: bool = False,
    history: Callable[[], PlanHistory] = lambda: NO_HISTORY,
) -> None:
    """Write the plan to its file, print it with the facts of the ``history``, and print the next
    step. ``next_command``: returns that command for the name of the plan's file. ``history`` may
    take time and be interrupted: it is called once the file is written, and not for ``-``."""
    if path == "-":
        emit(to_json(plan).decode())
        return
    would_lose = plan.errors and not plan.steps and holds_plan(path)
    if path and not would_lose:
        write_plan(path, to_json(plan))
    in_full = diff or output.verbose or group_by
    style = screen_options(output, group_by=group_by, view="full" if in_full else "short")
    for text in render(plan, style, history()):
        emit(text)
    if plan.steps and not output.quiet:
        more = "" if in_full else " To see each step in full, use --diff."
        more += "" if path else " To write it for `vnicaudit apply`: -o plan.json."
        emit(wrap(f"Nothing has been changed.{more}", style.width, "", "  "))
    flush()
    if path and would_lose:
        tell(f"{safe(path)} {_NOT_OVERWRITTEN}")
    elif path and not output.quiet:
        tell(_next_step(plan, path, next_command))


def _next_step(plan: Plan, path: str, command: Callable[[str], str]) -> str:
    """Where the plan was written, and what to do next."""
    if not plan.steps:
        return f"Written to {safe(path)}: there is nothing to apply"
    unread = " (some targets could not be read)" if plan.errors else ""
    allowed = [step for step in plan.steps if not step.refused]
    if not allowed:
        causes = "every step is blocked; remove the causes above, and plan again"
        return f"Written to {safe(path)}{unread}: {causes}"
    words = safe(path_word(path))
    if any("://" in step.target and unsafe_parts(step.target) for step in allowed):
        words += " --trust-uri all"  # the user named them here
    following = command(words)
    if not any(step.safe for step in allowed):
        following += " --include-unsafe"  # without it, nothing would be applied
    return f"Written to {safe(path)}{unread}; next: {following}"
