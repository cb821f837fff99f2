"""A trial that leaves no guest in the middle.

It reads what a guest and its tools print, which may be anything. What it is known to raise takes
the change back; so does whatever else it raises, a mistake of our own included.
"""

from __future__ import annotations

from collections.abc import Callable

from vnicaudit.errors import MeasureError, VnicauditError
from vnicaudit.model.runs import Outcome
from vnicaudit.remedy.trial import Trial

_LONGEST = 200


class GuardedTrial:
    """A Trial that raises nothing but errors of this program. ``tell``: is told what cannot be
    raised any more."""

    def __init__(self, trial: Trial, tell: Callable[[str], None]) -> None:
        self._trial = trial
        self._tell = tell

    def before(self) -> None:
        """Measure the guest as it is."""
        try:
            self._trial.before()
        except VnicauditError:
            raise
        except Exception as error:
            raise MeasureError(_message(error)) from error

    def after(self) -> str:
        """Measure again."""
        try:
            return self._trial.after()
        except VnicauditError:
            raise
        except Exception as error:
            raise MeasureError(_message(error)) from error

    def note_outcome(self, outcome: Outcome, *, undone: bool) -> None:
        """Tell what became of the guest. It became that, whatever is raised now."""
        try:
            self._trial.note_outcome(outcome, undone=undone)
        except Exception as error:
            self._tell(f"the result could not be recorded: {_message(error)}")


def _message(error: Exception) -> str:
    if isinstance(error, VnicauditError):
        return str(error)
    return f"internal error during the measurement: {type(error).__name__}: {error}"[:_LONGEST]
