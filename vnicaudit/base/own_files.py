"""Files and folders that this program makes, which nothing may change or take for guests: those of
runs, which keep definitions as they were, backups, and files that are not complete yet."""

from __future__ import annotations

import os

from vnicaudit.base.identifiers import TIME_ID

BEING_WRITTEN = ".vnicaudit-"
"""Prefix of the name of a file that is not complete yet."""
BACKUP = ".vnicaudit.bak"
"""Suffix of the backup of a changed file; a number may follow."""
DEFINITIONS = "definitions"
"""The folder, in that of a run, of the definitions before and after the change."""


def is_run_folder(folder: str) -> bool:
    """True for the folder of a run of ``apply`` or ``rollback`` in a state directory."""
    is_named_so = TIME_ID.fullmatch(os.path.basename(folder)) is not None
    return is_named_so and os.path.isdir(os.path.join(folder, DEFINITIONS))


def is_in_run_folder(file: str) -> bool:
    """True for a file in the folder of a run, or below it."""
    folder = os.path.dirname(os.path.abspath(file))
    return is_run_folder(folder) or is_run_folder(os.path.dirname(folder))
