"""Why the change of a unit is not started."""

from __future__ import annotations

from vnicaudit.errors import RefusedError
from vnicaudit.model.reasons import RefusalCode


class UnitRefusedError(RefusedError):
    """The change of a unit is not started. The message says why; ``codes`` give the reasons to
    programs."""

    def __init__(self, message: str, *codes: RefusalCode) -> None:
        super().__init__(message)
        self.codes = codes


def codes_of(error: RefusedError) -> tuple[str, ...]:
    """The reasons, for programs; ``other`` if the error has no code."""
    other: RefusalCode = "other"
    return error.codes or (other,)
