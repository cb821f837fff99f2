"""Records of shadow NICs that are or may be plugged in: written before anything is done, removed
when everything is restored. A record that no process is working on was left by a process that was
killed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from vnicaudit.base.private_files import make_private, sync_folder, write_private, writing
from vnicaudit.errors import UsageError
from vnicaudit.model.decoding import json_as

_FOLDER = "shadows"
_NAME = re.compile(r"[0-9a-f]{12}\.json")


class ShadowNote(msgspec.Struct, frozen=True, kw_only=True):
    """Everything needed to remove a shadow. ``mac`` is its own, ``beside`` that of the NIC it was
    plugged in beside; ``arp_filter`` is that NIC's setting in the guest, in the boot of that id;
    ``address`` and ``table`` are those of the guest's routing rule. ``at``: time of writing, in
    seconds."""

    uri: str
    uuid: str
    name: str
    mac: str
    beside: str
    address: str
    table: int
    arp_filter: str
    boot: str
    at: float = 0.0


class ShadowNotes:
    """The records of shadows in one state folder."""

    def __init__(self, state: Path) -> None:
        self._folder = state / _FOLDER

    def write(self, note: ShadowNote) -> None:
        """Write a record; on disk when this returns. Raises JournalError if it cannot be
        written."""
        with writing(self._folder):
            make_private(self._folder)
        write_private(self._path(note), msgspec.json.format(msgspec.json.encode(note), indent=1))

    def forget(self, note: ShadowNote) -> None:
        """Remove a record: everything is restored."""
        with writing(self._folder):
            self._path(note).unlink(missing_ok=True)
            sync_folder(self._folder)

    def every_note(self) -> Iterator[ShadowNote]:
        """Yield every record, oldest first. Raises UsageError for a file that is not one."""
        try:
            paths = [path for path in self._folder.iterdir() if _NAME.fullmatch(path.name)]
            notes = [json_as(path.read_bytes(), ShadowNote) for path in paths]
        except FileNotFoundError:
            return
        except OSError as error:
            raise UsageError(f"{self._folder}: {error.strerror}") from None
        except (msgspec.MsgspecError, RecursionError) as error:
            raise UsageError(f"{self._folder}: not a note of a shadow NIC: {error}") from None
        yield from sorted(notes, key=lambda note: note.at)

    def _path(self, note: ShadowNote) -> Path:
        return self._folder / f"{note.mac.replace(':', '')}.json"
