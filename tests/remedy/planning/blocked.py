"""Why something is not planned, or a step cannot be applied, as tests ask for it."""

from collections.abc import Iterable
from typing import Protocol

from vnicaudit.model.plan import Blocked, NotPlanned, Planned


class _Held(Protocol):
    @property
    def blocked(self) -> tuple[Blocked, ...]: ...


def why(held: _Held) -> tuple[str, ...]:
    """The sentences."""
    return tuple(one.text for one in held.blocked)


def codes(held: _Held) -> tuple[str, ...]:
    """The codes."""
    return tuple(one.code for one in held.blocked)


def coded(found: Iterable[Planned]) -> list[Planned]:
    """What was planned, in which every reason has a code for programs."""
    planned = list(found)
    for one in planned:
        if isinstance(one, NotPlanned):
            assert one.code, one
        else:
            assert all(codes(one)), one
            assert all(bool(mode.code) == bool(mode.reason) for mode in one.modes), one
    return planned
