"""The texts that are kept of a unit in its run's folder, and what it was begun with."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Literal

from vnicaudit.base.clock import timestamp
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
"""A definition of a unit: the one there was, the one that is to be, what libvirt made of that, and
what ran, where the persistent one does not say what to go back to."""


class KeptTexts:
    """The definitions a unit may have, kept in the run's folder."""

    def __init__(self, folder: Path, key: str) -> None:
        self._names = f"{folder}/definitions/{key}."
        self._key = key
        self._known: dict[KeptKind, tuple[str, bytes]] = {}

    def keep(self, kind: KeptKind, data: bytes) -> str:
        """Keep one; its digest. On disk when this returns."""
        write_private(self._path(kind), data)
        return digest(data)

    def keep_both(self, before: bytes, goal: bytes) -> None:
        """Keep the one that there is, and the one that is to be. On disk when this returns."""
        write_several_private(((self._path("before"), before), (self._path("goal"), goal)))
        self._known = {"before": (digest(before), before), "goal": (digest(goal), goal)}

    def keep_settled(self, data: bytes, goal: bytes) -> str:
        """Keep what the hypervisor made of the goal; its digest. Where that is the goal as it was
        kept, it is on disk already, and gets another name."""
        if data == goal:
            with suppress(OSError):  # it has that name already, or its file system has no links
                os.link(self._path("goal"), self._path("settled"))
                return digest(data)
        return self.keep("settled", data)

    def get(self, kind: KeptKind, wanted: str | None, by_hand: str = "") -> bytes:
        """One that was kept; ``wanted`` is its digest, as the journal says it (None: it does
        not). Raises KeptError where there is none, or another; ``by_hand`` is what else can be
        done then."""
        known = self._known.get(kind)
        if known is not None and known[0] == wanted:
            return known[1]
        path = self._path(kind)
        try:
            data = _read(path)
        except OSError as error:
            if kind == "settled" and wanted is not None:
                with suppress(KeptError):  # the power may have taken the goal's other name
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
        """True where a text of that kind was kept."""
        return os.path.isfile(self._path(kind))

    def keep_transaction(self, begin: Begin) -> None:
        """Keep what is about to be done beside the definitions, in the form of the journal's line:
        what is known of it then does not hang on the journal alone. It is the second of the two,
        so that nothing waits for it to be on disk."""
        entry = Entry(timestamp(), begin, self._key)
        write_private_quickly(self._transaction_path, encoded(entry, 1))

    def begin(self) -> JournalLine | None:
        """The line that was kept by :meth:`keep_transaction`; None where there is none."""
        try:
            line = self._transaction()
        except OSError as error:
            return JournalLine(None, wrong=error.strerror or "it cannot be read")
        return decoded(line) if line else None

    def damage(self) -> str:
        """Why that line is not to be believed; empty: it is whole, or there is none."""
        try:
            line = self._transaction()
        except OSError as error:
            return error.strerror or "it cannot be read"
        return damage_of(line) if line else ""

    def _transaction(self) -> bytes:
        """The line; empty where there is none, or it has no end: the power failed before it was on
        disk."""
        try:
            line = _read(self._transaction_path)
        except FileNotFoundError:
            return b""
        return line[:-1] if line.endswith(b"\n") else b""

    @property
    def _transaction_path(self) -> str:
        return f"{self._names}task.json"

    def path(self, kind: KeptKind) -> Path:
        """Where one is kept."""
        return Path(self._path(kind))

    def _path(self, kind: KeptKind) -> str:
        return f"{self._names}{kind}.xml"


def _read(path: str) -> bytes:
    with open(path, "rb", buffering=0) as stream:
        return stream.read()


def _mend(by_hand: str) -> str:
    or_else = f", or undo the change by hand: {by_hand}" if by_hand else ""
    return f"restore that file from a backup and run this again{or_else}"
