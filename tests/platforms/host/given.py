"""Readings of a host that a test writes down: files and outputs, also of the second reading; and
those of a tree with the files of a host (a sosreport that was unpacked)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from vnicaudit.platforms.host.readings import HostFact, HostReadings, matching


class Given:
    """Readings by name. ``later``: the second reading of counters."""

    def __init__(
        self,
        files: Mapping[str, str] | None = None,
        outputs: Mapping[str, str] | None = None,
        window: float | None = None,
        later: Given | None = None,
    ) -> None:
        self._files, self._outputs = files or {}, outputs or {}
        self.window, self._later = window, later

    def text(self, path: str) -> str | None:
        return self._files.get(path)

    def texts(self, pattern: str) -> Mapping[str, str]:
        return matching(self._files, pattern)

    def output(self, command: str) -> str | None:
        return self._outputs.get(command)

    def outputs(self, command: str) -> Mapping[str, str]:
        start = f"{command} "
        found = self._outputs.items()
        return {name[len(start) :]: text for name, text in found if name.startswith(start)}

    def later(self) -> HostReadings:
        return self._later or self


def of_tree(root: Path, facts: Iterable[HostFact]) -> Given:
    """The readings of these facts from a tree."""
    files: dict[str, str] = {}
    outputs: dict[str, str] = {}
    for fact in facts:
        named = (pattern for excerpt in fact.excerpts for pattern in excerpt.files)
        for pattern in (*fact.files, *fact.counters, *fact.present, *named):
            for path in root.glob(pattern.lstrip("/")):
                if path.is_file():
                    files[f"/{path.relative_to(root)}"] = path.read_text("utf-8", "replace")
        for command in fact.commands:
            for path in (each for name in command.sos for each in root.glob(name)):
                outputs.setdefault(command.name, path.read_text("utf-8", "replace"))
    return Given(files, outputs)
