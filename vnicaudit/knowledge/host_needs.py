"""The facts of a host that rules of scopes ``host`` and ``link`` need, and what would tell each;
and words for guests in their messages.

These rules apply only where a host was visited: elsewhere they say nothing, not even that they were
skipped.
"""

from __future__ import annotations

from collections.abc import Sequence

from vnicaudit.model.rule import Fact, HostSubject, LinkSubject

_SHOWN = 3


def guests_named(names: Sequence[str]) -> str:
    """Guests in a sentence: the first three by name, the rest counted."""
    shown = ", ".join(names[:_SHOWN])
    more = len(names) - _SHOWN
    return shown if more <= 0 else f"{shown} and {more} more"


LINK_FEATURES: Fact[LinkSubject] = Fact(
    lambda subject: subject.link.features is not None,
    "the link's offloads (ethtool -k on the host, with ethtool installed)",
    live=True,
)
LINK_WINDOW: Fact[LinkSubject] = Fact(
    lambda subject: subject.link.growth is not None,
    "a window: two readings of the host's counters (--window 2)",
    live=True,
)


def _window(subject: HostSubject) -> bool:
    return subject.facts is not None and subject.facts.window is not None


HOST_WINDOW: Fact[HostSubject] = Fact(
    _window, "a window: two readings of the host's counters (--window 2)", live=True
)
