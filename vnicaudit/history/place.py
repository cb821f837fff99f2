"""The place of a history: a local file, or a PostgreSQL database."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Literal

import msgspec

from vnicaudit.base.files import check_own, make_private, why_not_own
from vnicaudit.errors import MissingExtraError, UsageError
from vnicaudit.text.secrets import masked_message

FILE = "history.db"
"""File in the state directory that is used if no place is named."""
PATIENCE = 300.0
"""Seconds that a process waits for another one that is storing."""
_POSTGRESQL = ("postgresql://", "postgres://", "postgresql+psycopg://")
_SQLITE = "sqlite:///"
FORMS = "a file, or postgresql://USER@HOST/DATABASE"
_LIKE_POSTGRESQL = re.compile(r"(?i)^\s*postgres|(?:^|\s)password\s*=")
"""The beginning of a URL, however it goes on, or a part of libpq's ``host=… password=…``."""
_LIKE_PASSWORD = re.compile(r"[^\s:]:.")
"""Before an ``@``."""
_LIKE_URL = re.compile(r"[A-Za-z][\w+.-]+:/")
_HOST = r"(?:[\w.~%-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?"
_URL = re.compile(
    rf"postgresql://(?:[^:@/?#\s]*(?::[^@/?#\s]*)?@)?{_HOST}(?:,{_HOST})*(?:/[^@?#\s]*)?(?:\?[^@#\s]*)?"
)
"""What the driver takes for it, and nothing that it would take apart otherwise and then quote."""
_MISTYPED = (
    "history: not the URL of a PostgreSQL database; write postgresql://USER@HOST/DATABASE, and "
    "the password, if it must be there, with its special characters encoded (%40 for @, %2F for "
    "/); a file whose name begins with postgres is ./postgres…"
)

Kind = Literal["sqlite", "postgresql"]


class NothingStoredError(UsageError):
    """The history has no audit yet."""


class HistoryPlace(msgspec.Struct, frozen=True):
    """The address of a history. ``target``: path of a file, or a URL (which may contain a password:
    print :attr:`label` instead)."""

    kind: Kind
    target: str

    @property
    def label(self) -> str:
        """The target without its password, safe to print."""
        return self.target if self.kind == "sqlite" else masked_message(self.target)

    @property
    def exists(self) -> bool:
        """False for a file that does not exist yet."""
        return self.kind != "sqlite" or os.path.exists(self.target)


def history_place(named: str | None, state: str | Path) -> HistoryPlace:
    """The named place, or the file in the state directory. Raises UsageError."""
    if not named:
        return HistoryPlace("sqlite", str(Path(state) / FILE))
    if _LIKE_POSTGRESQL.search(named):
        url = f"postgresql://{named.partition('://')[2]}"
        if not named.startswith(_POSTGRESQL) or _URL.fullmatch(url) is None:
            raise UsageError(_MISTYPED)  # it may hold a password anywhere
        return HistoryPlace("postgresql", url)
    path = named.removeprefix(_SQLITE)
    if _LIKE_URL.match(path):
        raise UsageError(f"{masked_message(named)}: not a place for a history; supported: {FORMS}")
    if _LIKE_PASSWORD.search(path.rpartition("@")[0]):
        raise UsageError(_MISTYPED)
    return HistoryPlace("sqlite", path)


def check_file(path: Path) -> None:
    """Raises UsageError for a FIFO, a device or a folder, on which a database might wait forever,
    and for a file that others could change. A missing file is fine."""
    if not path.exists():
        return
    if not path.is_file():
        raise UsageError(f"history {path}: not a regular file; choose another one with --history")
    check_own(path.parent, link=True)
    if reason := why_not_own(path.stat()):
        raise UsageError(f"history {path} {reason}: correct its owner and mode, or choose another")


def prepare_file(path: Path) -> None:
    """Create an empty file, readable only by this user, and its folder, if missing. Raises
    UsageError, also for a file that others could change."""
    check_own(path.parent, link=True)
    try:
        make_private(path.parent)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        os.close(os.open(path, flags, 0o600))
    except OSError as error:
        raise UsageError(
            f"{path}: no history can be stored there ({error.strerror}); choose another place "
            "with --history, or another folder with --state"
        ) from None
    check_file(path)


def check_extras(kind: Kind) -> None:
    """Raises MissingExtraError if a library needed for this kind of place is not installed."""
    try:
        import sqlalchemy
    except ModuleNotFoundError:
        raise MissingExtraError("a history", "history") from None
    del sqlalchemy
    if kind == "postgresql":
        try:
            import psycopg
        except ModuleNotFoundError:
            raise MissingExtraError("a history in PostgreSQL", "postgresql") from None
        del psycopg
