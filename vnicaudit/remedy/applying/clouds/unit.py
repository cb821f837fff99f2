"""One server, image or flavor: carried out, or brought back."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from vnicaudit.errors import JournalError, SilentError
from vnicaudit.model.runs import CloudObject, Outcome
from vnicaudit.remedy.applying.clouds import flavor, image, server
from vnicaudit.remedy.applying.clouds.left import may_be_off
from vnicaudit.remedy.applying.clouds.means import CloudMeans
from vnicaudit.remedy.applying.means import Result


class _Way(NamedTuple):
    forward: Callable[[CloudMeans], Result]
    undone: Callable[[CloudMeans, str, Outcome], Result]


_WAYS: dict[CloudObject, _Way] = {
    "server": _Way(server.forward, server.undone),
    "image": _Way(image.forward, image.undone),
    "flavor": _Way(flavor.forward, flavor.undone),
}


def carry_out(means: CloudMeans) -> Result:
    """Bring it to its goal, or back to where it was. Raises SilentError where the cloud stopped
    answering: the unit is unfinished then, and can be carried on."""
    undoing = means.notes.last("undoing")
    way = _WAYS[means.task.object]
    try:
        result = (
            way.forward(means) if undoing is None
            else way.undone(means, undoing["reason"], undoing["outcome"])
        )  # fmt: skip
    except SilentError as error:
        raise SilentError(_with_hint(means, error)) from error
    except JournalError as error:
        raise JournalError(_with_hint(means, error)) from error
    means.notes.write(
        "done",
        outcome=result.outcome,
        message=result.message,
        checks=[[check.name, check.verdict, check.detail] for check in result.checks],
        downtime=result.downtime,
        undone=result.undone,
    )
    return result


def give_up(means: CloudMeans, reason: str) -> Result:
    """Undo a unit that was left in the middle."""
    if means.notes.last("undoing") is None:
        means.notes.write("undoing", reason=reason, outcome="rolled-back")
    return carry_out(means)


def _with_hint(means: CloudMeans, error: Exception) -> str:
    """What went wrong, and which server is off for it."""
    hint = may_be_off(means.notes.entries())
    return f"{error}; {means.task.name}: {hint}" if hint else str(error)
