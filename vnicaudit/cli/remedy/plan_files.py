"""The files that ``vnicaudit plan`` writes: the plan, and a summary for each project. They never
overwrite other files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from vnicaudit.base.opening import as_usage_error, open_regular
from vnicaudit.cli.output.files import ReportOutput
from vnicaudit.errors import UsageError

if TYPE_CHECKING:
    from vnicaudit.model.plan import Plan

TABLE = "servers.csv"
_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_HEAD = 200
"""Bytes in which a file says that it is one of these."""
_PLAN_HEAD = 100
"""Bytes in which a plan says what it is."""


def holds_plan(path: str | None) -> bool:
    """True where a file holds a plan that writing would lose."""
    try:
        return path is not None and os.path.getsize(path) > 0 and _is_plan(path)
    except OSError:
        return False


def write_plan(path: str, text: bytes) -> None:
    """In the place of an earlier plan, or of nothing: never of a definition. It decides what is
    changed on hosts: nobody else may write to it; a link there is replaced and not followed."""
    with as_usage_error(path):
        if os.path.isfile(path) and not _is_plan(path):
            raise UsageError(f"{path} exists and is not a plan: choose another name")
    with ReportOutput(path, private=True) as output:
        output.write(text.decode())


def _is_plan(path: str) -> bool:
    """True where a file begins as a plan does, of whatever version, or is empty."""
    with open_regular(path) as stream:
        head = stream.read(_PLAN_HEAD)
    return not head or b'"schema": "vnicaudit.plan/' in head


def write_projects(plan: Plan, folder: str) -> int:
    """One text for each project that has a server in the plan, and one table of all; how many
    projects there are. Of several clouds each has a folder: two regions of one Keystone
    have the same projects. Raises UsageError for a folder that cannot be written to, or that has
    something else under one of these names."""
    from vnicaudit.reports.plan.project_table import COLUMNS, projects_table
    from vnicaudit.reports.plan.project_text import MARK, project_text
    from vnicaudit.reports.plan.projects import projects

    found = tuple(projects(plan))
    clouds = _folders({project.target: None for project in found}, folder)
    try:
        for place in (folder, *clouds.values()):
            os.makedirs(place, mode=0o750, exist_ok=True)
        for number, project in enumerate(found, 1):
            path = os.path.join(clouds[project.target], f"{_file_name(project.id, number)}.md")
            _write(path, project_text(plan, project), MARK)
        _write(os.path.join(folder, TABLE), projects_table(plan), ",".join(COLUMNS))
    except OSError as error:
        raise UsageError(f"{error.filename or folder}: {error.strerror}") from None
    return len(found)


def _folders(targets: Iterable[str], folder: str) -> dict[str, str]:
    """Where the texts of each cloud go: of one alone, into the folder itself."""
    names = tuple(targets)
    if len(names) == 1:
        return {names[0]: folder}
    return {
        target: os.path.join(folder, _plain(target.partition(":")[2], "cloud", number))
        for number, target in enumerate(names, 1)
    }


def _file_name(project: str, number: int) -> str:
    """A project's id is the cloud's word: one that is no plain id is no name of a file."""
    return _plain(project, "project", number)


def _plain(name: str, kind: str, number: int) -> str:
    """A name as that of a file or folder. One that could be taken for ours is no plain one."""
    ours = name == TABLE or name.startswith(f"{kind}-")
    return name if _ID.fullmatch(name) and not ours else f"{kind}-{number}"


def _write(path: str, text: str, mark: str) -> None:
    """In the place of an earlier one, or of nothing."""
    if os.path.isfile(path):
        with open(path, "rb") as stream:
            head = stream.read(_HEAD)
        if head and not head.replace(b'"', b"").startswith(mark.encode()[: _HEAD // 2]):
            raise UsageError(f"{path} exists and was not written by plan: choose another folder")
    with ReportOutput(path) as output:
        output.write(text)
