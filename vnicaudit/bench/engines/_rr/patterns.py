"""IBM's names for requests, which IBM runs by uperf and this program by its own generator.

``rr1c-200x1000``: a request of 200 bytes and an answer of 1000 over a persistent connection; ``k``
is 1024. ``crr-200x1000``: the same, each request over a connection of its own (our name; netperf
calls it TCP_CRR). IBM's streams (``str-readx30k``) are iperf3's, with messages of 30 KiB (IBM, KVM
network performance, "Workload tests description").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from vnicaudit.bench.engines._programs.checks import require_none
from vnicaudit.errors import UsageError
from vnicaudit.model.measurement import Workload

Mode = Literal["rr", "crr"]

LARGEST = 16 << 20
"""Bytes of a message."""

_REQUESTS = re.compile(r"(rr1c|crr)-([1-9]\d{0,7}k?)x([1-9]\d{0,7}k?)", re.ASCII)

NAMED = ("rr1c-1x1", "rr1c-200x1000", "rr1c-200x30k", "crr-1x1")


class Pattern(NamedTuple):
    """``size``: bytes of a request; ``answer``: of an answer. ``crr``: a connection for each
    request."""

    mode: Mode
    size: int
    answer: int


def pattern_of(name: str) -> Pattern | None:
    """The pattern of that name; None if there is none."""
    found = _REQUESTS.fullmatch(name)
    if found is None:
        return None
    pattern = Pattern("rr" if found[1] == "rr1c" else "crr", _bytes(found[2]), _bytes(found[3]))
    return pattern if max(pattern.size, pattern.answer) <= LARGEST else None


class Patterns(Mapping[str, tuple[str, ...]]):
    """Pattern -> metrics: of requests, of connections. IBM's patterns are listed, and one of
    connections; patterns of any other size are accepted too."""

    def __init__(self, rr: tuple[str, ...], crr: tuple[str, ...]) -> None:
        self._metrics: dict[Mode, tuple[str, ...]] = {"rr": rr, "crr": crr}

    def __getitem__(self, name: str) -> tuple[str, ...]:
        pattern = pattern_of(name) if isinstance(name, str) else None
        if pattern is None:
            raise KeyError(name)
        return self._metrics[pattern.mode]

    def __iter__(self) -> Iterator[str]:
        return iter(NAMED)

    def __len__(self) -> int:
        return len(NAMED)


def _bytes(text: str) -> int:
    return int(text[:-1]) * 1024 if text.endswith("k") else int(text)


def checked_pattern(
    workload: Workload, engine: str, problems: Callable[[Workload, Pattern], Iterable[str]]
) -> Pattern:
    """The pattern that an engine of these patterns is to run; ``problems``: why it cannot. Raises
    UsageError with the first."""
    pattern = pattern_of(workload.pattern)
    if pattern is None:
        raise UsageError(
            f"{workload.id}: {engine} has no pattern {workload.pattern!r}; use "
            f"{', '.join(NAMED)}, or these with other sizes"
        )
    require_none(workload, problems(workload, pattern))
    return pattern
