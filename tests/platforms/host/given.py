"""Readings of a host that a test writes down: files and outputs, also of the second reading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vnicaudit.model.host import Section
from vnicaudit.platforms.host.readings import LATER, SectionReadings

Texts = Mapping[str, str]


def readings_of(
    files: Texts | None = None,
    outputs: Texts | None = None,
    window: float | None = None,
    later: tuple[Texts, Texts] | None = None,
) -> SectionReadings:
    """Readings by name. ``later``: files and outputs of the second reading of counters."""
    second = () if later is None else (Section(LATER, ""), *_sections(*later))
    readings = SectionReadings([*_sections(files or {}, outputs or {}), *second])
    readings.window = window
    return readings


def _sections(files: Texts, outputs: Texts) -> Iterator[Section]:
    lines = (f"{path}\0{line}" for path, text in files.items() for line in text.split("\n"))
    yield Section("files", "\n".join(lines))
    for name, text in outputs.items():
        yield Section(name, text, 0)
