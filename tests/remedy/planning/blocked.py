"""Why a step cannot be applied, as tests ask for it."""

from typing import Protocol

from vnicaudit.model.plan import Blocked


class _Held(Protocol):
    @property
    def blocked(self) -> tuple[Blocked, ...]: ...


def why(held: _Held) -> tuple[str, ...]:
    """The sentences."""
    return tuple(one.text for one in held.blocked)


def codes(held: _Held) -> tuple[str, ...]:
    """The codes."""
    return tuple(one.code for one in held.blocked)
