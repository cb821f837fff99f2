"""How bringing an image or a flavor back ends: no guest is concerned, so one thing is undone."""

from __future__ import annotations

from collections.abc import Callable

from vnicaudit.errors import VnicauditError
from vnicaudit.model.runs import Outcome
from vnicaudit.remedy.applying.clouds.server import ENDS_THE_RUN
from vnicaudit.remedy.applying.means import Result


def brought_back(back: Callable[[], None], reason: str, outcome: Outcome, as_before: str) -> Result:
    """Do it; ``as_before`` says what is as it was then. Raises what ends the run."""
    try:
        back()
    except ENDS_THE_RUN:
        raise
    except VnicauditError as error:
        why = f"{reason}; it could not all be undone: {error}"
        return Result("failed", why, undone=False)
    return Result(outcome, f"{reason}; {as_before}")
