"""One image on its way: its properties set, and the old ones put back. No guest is touched."""

from __future__ import annotations

from vnicaudit.errors import ActionError, VnicauditError
from vnicaudit.model.runs import Check, Outcome
from vnicaudit.remedy.applying.clouds.brought_back import brought_back
from vnicaudit.remedy.applying.clouds.kept import ForeignError, differing
from vnicaudit.remedy.applying.clouds.means import CloudMeans
from vnicaudit.remedy.applying.clouds.server import ENDS_THE_RUN
from vnicaudit.remedy.applying.clouds.task import Properties
from vnicaudit.remedy.applying.means import Result

_LATER = "servers that are made of it from now on have it; those there are keep what Nova kept"


def forward(means: CloudMeans) -> Result:
    """Set the properties, where they are what they were."""
    try:
        _put(means, means.task.before, means.task.goal)
    except ENDS_THE_RUN:
        raise
    except ForeignError as error:
        return Result("failed", str(error))
    except VnicauditError as error:
        return undo(means, str(error), "failed")
    words = ", ".join(f"{name}={value}" for name, value in means.task.goal.items())
    return Result("applied", _LATER, (Check("image", "ok", f"the image has {words}"),))


def undo(means: CloudMeans, reason: str, outcome: Outcome) -> Result:
    """Begin to bring it back, because of ``reason``."""
    means.notes.write("undoing", reason=reason, outcome=outcome)
    return undone(means, reason, outcome)


def undone(means: CloudMeans, reason: str, outcome: Outcome) -> Result:
    """Back to where it was."""

    def back() -> None:
        _put(means, means.task.goal, means.task.before)

    return brought_back(back, reason, outcome, "its properties are as before")


def _put(means: CloudMeans, before: Properties, goal: Properties) -> None:
    """Raises ForeignError where it is neither, ActionError where Glance does not take it."""
    now = _now(means, goal)
    if not _differs(now, goal):
        return
    if any(now[name] not in (before[name], goal[name]) for name in goal):
        raise ForeignError(differing(now, before))
    means.notes.write("setting", properties=goal)
    means.cloud.set_image_properties(means.task.id, goal)
    if missing := _differs(_now(means, goal), goal):
        raise ActionError(f"Glance took it, and does not have it: {missing}")
    means.notes.write("set")


def _now(means: CloudMeans, names: Properties) -> Properties:
    found = means.cloud.image_properties(means.task.id)
    return {name: found.get(name) for name in names}


def _differs(now: Properties, wanted: Properties) -> str:
    """To the letter: an image can have a property removed."""
    return ", ".join(name for name in wanted if now.get(name) != wanted[name])
