"""``--redact``: replace names and addresses by pseudonyms, with a key that stays on this
machine."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from vnicaudit.base.opening import as_usage_error, open_regular
from vnicaudit.base.private_files import check_own, make_private, why_not_own, writing
from vnicaudit.cli.options.records import group
from vnicaudit.errors import UsageError
from vnicaudit.text.own_commands import default_state

if TYPE_CHECKING:
    from vnicaudit.reports.redaction.records import Redactor

KEY_FILE = "redaction.key"
_SHORTEST = 16
_LONGEST = 4096


class RedactionOptions(msgspec.Struct, frozen=True):
    """``--redact``."""

    redact: bool


redaction_options = group(
    "redaction",
    RedactionOptions,
    click.option(
        "--redact",
        envvar="VNICAUDIT_REDACT",
        is_flag=True,
        help="Replace names, UUIDs, MAC and IP addresses, projects, hosts and paths by pseudonyms. "
        "They are the same in each report and cannot be reversed without the key, "
        f"{KEY_FILE} in the state directory, which is made at first use.",
    ),
)
"""Options of every command that reports on what was read."""


def redactor_of(options: RedactionOptions) -> Redactor | None:
    """The redactor selected by the options; None: no redaction. Raises UsageError for an invalid
    key, or one that others can read."""
    if not options.redact:
        return None

    from vnicaudit.reports.redaction.records import Redactor

    return Redactor(_own_key(Path(os.environ.get("VNICAUDIT_STATE") or default_state())))


def _own_key(folder: Path) -> bytes:
    """The key in this user's state directory, created if missing."""
    check_own(folder, link=True)
    path = folder / KEY_FILE
    if not path.exists():
        with writing(path):
            make_private(folder)
            _make(path)
    return _read(path)


def _make(path: Path) -> None:
    """Create a key. If another process has created one meanwhile, that one stays."""
    import secrets  # loads OpenSSL, which only a new key needs

    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "w") as file:
            file.write(f"{secrets.token_hex(32)}\n")
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(part, path)
    finally:
        os.unlink(part)


def _read(path: Path) -> bytes:
    with as_usage_error(path), open_regular(path, null=False) as file:
        status = os.fstat(file.fileno())
        key = file.read(_LONGEST + 1).strip()
    reason = why_not_own(status) or _readable_by_others(status)
    if reason is not None:
        raise UsageError(
            f"{path} {reason}: anyone who has the key can reverse a redacted report; run chmod "
            "600 on it"
        )
    if not _SHORTEST <= len(key) <= _LONGEST:
        raise UsageError(
            f"{path}: a key must have {_SHORTEST} to {_LONGEST} bytes; make one with: (umask 077; "
            "openssl rand -hex 32 > FILE)"
        )
    return key


def _readable_by_others(status: os.stat_result) -> str | None:
    return "can be read by others" if status.st_mode & (stat.S_IRGRP | stat.S_IROTH) else None
