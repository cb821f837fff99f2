"""Why a unit of a run is not begun."""

from __future__ import annotations

from vnicaudit.errors import RefusedError
from vnicaudit.model.reasons import RefusalCode


class UnitRefusedError(RefusedError):
    """A unit is not begun. The message says why, ``codes`` say it to machines."""

    def __init__(self, message: str, *codes: RefusalCode) -> None:
        super().__init__(message)
        self.codes = codes


def codes_of(error: RefusedError) -> tuple[str, ...]:
    """Why, for machines; ``other`` where whoever refused it has no code for it."""
    other: RefusalCode = "other"
    return error.codes or (other,)
