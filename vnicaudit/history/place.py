"""The place of a history: a local file, or a PostgreSQL database."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import msgspec

from vnicaudit.base.private_files import check_own, make_private
from vnicaudit.errors import MissingExtraError, UsageError
from vnicaudit.text.secrets import masked_message

FILE = "history.db"
"""File in the state directory that is used if no place is named."""
PATIENCE = 300.0
"""Seconds that a process waits for another one that is storing."""
_POSTGRESQL = ("postgresql://", "postgres://", "postgresql+psycopg://")
_SQLITE = "sqlite:///"
FORMS = "a file, or postgresql://USER@HOST/DATABASE"

Kind = Literal["sqlite", "postgresql"]


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
    if named.startswith(_POSTGRESQL):
        return HistoryPlace("postgresql", f"postgresql://{named.partition('://')[2]}")
    path = named.removeprefix(_SQLITE)
    if "://" in path:
        raise UsageError(f"{masked_message(named)}: not a place for a history; supported: {FORMS}")
    return HistoryPlace("sqlite", path)


def check_regular(path: Path) -> None:
    """Raises UsageError for a FIFO, a device or a folder, on which a database might wait forever. A
    missing file is fine."""
    if path.exists() and not path.is_file():
        raise UsageError(f"history {path}: not a regular file; choose another one with --history")


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
