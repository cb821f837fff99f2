"""What guests said on their consoles while a command ran, those of boots that were undone too."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType

from tests.openstack.machine import Machine
from tests.rig.guests import UP

_SOON = 0.5


class Consoles:
    """Watches the consoles of all guests. Each start of a guest has a file of its own, of one name:
    a second link to it stays when the next start takes the name."""

    def __init__(self, machine: Machine) -> None:
        self._logs = machine.state / "nova/cmp1"
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._known: set[int] = set()
        self._texts: list[tuple[str, str]] = []
        """Server and what its guest said, for each start."""

    def __enter__(self) -> Consoles:
        # on the same file system, for the links; those that are there have one too, for the file
        # system would give their number to the next one when they go
        self._folder = TemporaryDirectory(dir=self._logs.parent)
        self._before, self._since = (Path(self._folder.name, name) for name in ("before", "since"))
        self._before.mkdir()
        self._since.mkdir()
        self._keep_new(self._before)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()
        links = sorted(self._since.iterdir(), key=lambda path: path.stat().st_mtime)
        self._texts = [
            (path.name.rpartition(".")[0], path.read_text(errors="replace").replace("\r", ""))
            for path in links
        ]
        self._folder.cleanup()

    def one_hung(self, server: str) -> bool:
        """The guest of that server was started, and never came up."""
        return any(UP not in text for owner, text in self._texts if owner == server)

    def __str__(self) -> str:
        return "\n".join(f"{owner}: it ended with:\n{text[-1500:]}" for owner, text in self._texts)

    def _watch(self) -> None:
        while not self._ended.wait(_SOON):
            self._keep_new(self._since)

    def _keep_new(self, folder: Path) -> None:
        for path in self._logs.glob("*/console.log"):
            with suppress(OSError):  # it has gone since
                link = folder / "new"
                os.link(path, link)
                number = link.stat().st_ino
                if number in self._known:
                    link.unlink()
                else:
                    link.rename(folder / f"{path.parent.name}.{number}")
                    self._known.add(number)
