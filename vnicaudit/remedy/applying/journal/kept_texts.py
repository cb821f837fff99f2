"""The texts of a unit that a run saves in its folder, and the unit's transaction."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Literal

from vnicaudit.base.clock import timestamp
from vnicaudit.base.new_file import DEFINITIONS
from vnicaudit.base.private_files import (
    write_private,
    write_private_quickly,
    write_several_private,
)
from vnicaudit.errors import KeptError
from vnicaudit.remedy.applying.journal.events import Begin
from vnicaudit.remedy.applying.journal.journal_line import (
    Entry,
    JournalLine,
    damage_of,
    decoded,
    encoded,
)
from vnicaudit.remedy.digests import digest

KeptKind = Literal["before", "goal", "settled", "running"]
"""Definitions of a unit: before the change, its goal, the definition that libvirt made of the goal
(``settled``), and the running one, saved where the persistent one does not say what to restore."""


class KeptTexts:
    """The saved definitions of a unit, in the run's folder."""

    def __init__(self, folder: Path, key: str) -> None:
        self._names = f"{folder}/{DEFINITIONS}/{key}."
        self._key = key
        self._known: dict[KeptKind, tuple[str, bytes]] = {}

    def keep(self, kind: KeptKind, data: bytes) -> str:
        """Save a definition and return its digest. It is on disk when this returns."""
        write_private(self._path(kind), data)
        return digest(data)

    def keep_both(self, before: bytes, goal: bytes) -> None:
        """Save the definitions before the change and of the goal. They are on disk when this
        returns."""
        write_several_private(((self._path("before"), before), (self._path("goal"), goal)))
        self._known = {"before": (digest(before), before), "goal": (digest(goal), goal)}

    def keep_settled(self, data: bytes, goal: bytes) -> str:
        """Save the definition that the hypervisor made of the goal, and return its digest. If both
        are equal, the saved goal, which is on disk already, gets a second name."""
        if data == goal:
            with suppress(OSError):  # the name exists, or the file system has no links
                os.link(self._path("goal"), self._path("settled"))
                return digest(data)
        return self.keep("settled", data)

    def get(self, kind: KeptKind, wanted: str | None, by_hand: str = "") -> bytes:
        """A saved definition. ``wanted`` is its digest in the journal (None: it records none).
        Raises KeptError if the file is missing or differs; ``by_hand`` is added to the message, as
        what else can be done then."""
        known = self._known.get(kind)
        if known is not None and known[0] == wanted:
            return known[1]
        path = self._path(kind)
        try:
            data = _read(path)
        except OSError as error:
            if kind == "settled" and wanted is not None:
                with suppress(KeptError):  # a power failure may have lost the second name
                    return self.get("goal", wanted)
            raise KeptError(
                f"{path}, saved by the run, cannot be read ({error.strerror}): {_mend(by_hand)}"
            ) from None
        if wanted is not None and digest(data) != wanted:
            raise KeptError(
                f"{path} is not as the run saved it (it was edited or is damaged, as its digest "
                f"in the journal differs): {_mend(by_hand)}"
            )
        return data

    def has(self, kind: KeptKind) -> bool:
        """True if a text of that kind was saved."""
        return os.path.isfile(self._path(kind))

    def keep_transaction(self, begin: Begin) -> None:
        """Save the transaction beside the definitions, in the form of the journal's line, so that
        the journal is not its only record. It is the second copy, so this does not wait for the
        disk."""
        entry = Entry(timestamp(), begin, self._key)
        write_private_quickly(self._transaction_path, encoded(entry, 1))

    def begin(self) -> JournalLine | None:
        """The line that :meth:`keep_transaction` saved; None if there is none."""
        try:
            line = self._transaction()
        except OSError as error:
            return JournalLine(None, wrong=error.strerror or "it cannot be read")
        return decoded(line) if line else None

    def damage(self) -> str:
        """Why that line cannot be trusted; empty: it is whole, or there is none."""
        try:
            line = self._transaction()
        except OSError as error:
            return error.strerror or "it cannot be read"
        return damage_of(line) if line else ""

    def _transaction(self) -> bytes:
        """The saved line; empty if there is none, or if it has no end because the power failed
        before it was on disk."""
        try:
            line = _read(self._transaction_path)
        except FileNotFoundError:
            return b""
        return line[:-1] if line.endswith(b"\n") else b""

    @property
    def _transaction_path(self) -> str:
        return f"{self._names}task.json"

    def path(self, kind: KeptKind) -> Path:
        """The path of a saved definition."""
        return Path(self._path(kind))

    def _path(self, kind: KeptKind) -> str:
        return f"{self._names}{kind}.xml"


def _read(path: str) -> bytes:
    with open(path, "rb", buffering=0) as stream:
        return stream.read()


def _mend(by_hand: str) -> str:
    or_else = f", or undo the change by hand: {by_hand}" if by_hand else ""
    return f"restore that file from a backup and run this again{or_else}"
