"""IBM's names for requests and streams, which IBM runs by uperf and this program by its own
generator.

``rr1c-200x1000``: a request of 200 bytes and an answer of 1000 over a persistent connection; ``k``
is 1024. ``crr-200x1000``: the same, each request over a connection of its own (our name; netperf
calls it TCP_CRR). ``str-readx30k``, ``str-writex30k``: a stream in messages of 30 KiB (IBM, KVM
network performance, "Workload tests description").

**The direction of a stream.** "read" and "write" are seen from the *client* (uperf's master), as in
uperf's profiles. The client is the peer, the server is the target: the target sends ``str-read``
(tx), and receives ``str-write`` (rx). IBM's page says it the other way round (there, "streaming
reads" go from the client to the server), and has its client in the guest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from vnicaudit.bench.engines._programs.checks import require_none
from vnicaudit.errors import UsageError
from vnicaudit.model.measurement import Direction, Workload

Mode = Literal["rr", "crr", "read", "write"]

LARGEST = 16 << 20
"""Bytes of a message."""

_DIRECTIONS: dict[Mode, Direction] = {"rr": "both", "crr": "both", "read": "tx", "write": "rx"}
_REQUESTS = re.compile(r"(rr1c|crr)-([1-9]\d{0,7}k?)x([1-9]\d{0,7}k?)", re.ASCII)
_STREAM = re.compile(r"str-(read|write)x([1-9]\d{0,7}k?)", re.ASCII)

IBM = ("rr1c-1x1", "rr1c-200x1000", "rr1c-200x30k", "str-readx30k", "str-writex30k")
NAMED = (*IBM, "crr-1x1")


class Pattern(NamedTuple):
    """``size``: bytes of a request, or of a stream's message; ``answer``: bytes of an answer, 0 in
    a stream. ``crr``: a connection for each request."""

    mode: Mode
    size: int
    answer: int

    @property
    def direction(self) -> Direction:
        """The direction of the load."""
        return _DIRECTIONS[self.mode]

    @property
    def has_requests(self) -> bool:
        """True if requests are answered; False for a stream."""
        return self.mode in ("rr", "crr")


def pattern_of(name: str) -> Pattern | None:
    """The pattern of that name; None if there is none."""
    if found := _REQUESTS.fullmatch(name):
        mode: Mode = "rr" if found[1] == "rr1c" else "crr"
        pattern = Pattern(mode, _bytes(found[2]), _bytes(found[3]))
    elif found := _STREAM.fullmatch(name):
        pattern = Pattern("read" if found[1] == "read" else "write", _bytes(found[2]), 0)
    else:
        return None
    return pattern if max(pattern.size, pattern.answer) <= LARGEST else None


class Patterns(Mapping[str, tuple[str, ...]]):
    """Pattern -> metrics: of requests, of connections, of streams. IBM's patterns are listed, and
    one of connections; patterns of any other size are accepted too."""

    def __init__(self, rr: tuple[str, ...], crr: tuple[str, ...], stream: tuple[str, ...]) -> None:
        self._metrics: dict[Mode, tuple[str, ...]] = {
            "rr": rr, "crr": crr, "read": stream, "write": stream,
        }  # fmt: skip

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
