"""A trial whose errors leave no guest half changed.

A trial reads the output of a guest and its tools, which may be anything. Its known errors undo the
change; so does any other exception, including one from a mistake in this program.
"""

from __future__ import annotations

from collections.abc import Callable

from vnicaudit.errors import MeasureError, VnicauditError
from vnicaudit.model.runs import Outcome
from vnicaudit.remedy.trial import Trial

_LONGEST = 200


class GuardedTrial:
    """A Trial that raises only errors of this program. ``tell`` is told of failures that can no
    longer be raised."""

    def __init__(self, trial: Trial, tell: Callable[[str], None]) -> None:
        self._trial = trial
        self._tell = tell

    def before(self) -> None:
        """Measure the guest before its change."""
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
        """Tell the trial the guest's outcome. The outcome stands, whatever the trial raises now."""
        try:
            self._trial.note_outcome(outcome, undone=undone)
        except Exception as error:
            self._tell(f"the result could not be recorded: {_message(error)}")


def _message(error: Exception) -> str:
    if isinstance(error, VnicauditError):
        return str(error)
    return f"internal error during the measurement: {type(error).__name__}: {error}"[:_LONGEST]
