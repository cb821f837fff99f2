"""One flavor on its way: a copy of it is made with other extra specs, and deleted on the way back.

Servers have their flavor embedded since they were made (``instance_extra.flavor``), so changing the
flavor itself would not reach them; they get the copy by a resize.
"""

from __future__ import annotations

from vnicaudit.errors import ActionError, RefusedError, VnicauditError
from vnicaudit.model.runs import Check, Outcome
from vnicaudit.remedy.applying.clouds.brought_back import brought_back
from vnicaudit.remedy.applying.clouds.means import CloudMeans
from vnicaudit.remedy.applying.clouds.server import ENDS_THE_RUN
from vnicaudit.remedy.applying.clouds.task import CloudTask
from vnicaudit.remedy.applying.means import Result
from vnicaudit.remedy.cloud import Cloud
from vnicaudit.text.cloud_names import client


def forward(means: CloudMeans) -> Result:
    """Make the copy; on a way back, delete it."""
    task = means.task
    try:
        _bring(means, there=not task.removes)
    except ENDS_THE_RUN:
        raise
    except RefusedError as error:
        return Result("refused", str(error))
    except VnicauditError as error:
        return undo(means, str(error), "failed")
    if task.removes:
        return Result("applied", f"flavor {task.copy_name} is gone")
    detail = f"flavor {task.copy_name} is there, with its extra specs"
    words = f"servers get it by {client(task.target)} server resize --flavor {task.copy} SERVER"
    return Result("applied", words, (Check("flavor", "ok", detail),))


def undo(means: CloudMeans, reason: str, outcome: Outcome) -> Result:
    """Begin to bring it back, because of ``reason``."""
    means.notes.write("undoing", reason=reason, outcome=outcome)
    return undone(means, reason, outcome)


def undone(means: CloudMeans, reason: str, outcome: Outcome) -> Result:
    """Back to where it was."""

    def back() -> None:
        _bring(means, there=means.task.removes)

    return brought_back(back, reason, outcome, "flavors are as before")


def check_unused(cloud: Cloud, task: CloudTask) -> None:
    """Raises RefusedError where servers have the copy: it cannot go then."""
    if count := cloud.flavor_servers(task.copy):
        raise RefusedError(
            f"{count} server{'s have' if count > 1 else ' has'} the flavor {task.copy_name}: "
            "resize to another one first"
        )


def _bring(means: CloudMeans, *, there: bool) -> None:
    if there:
        _make(means)
    else:
        _remove(means)


def _make(means: CloudMeans) -> None:
    cloud, task = means.cloud, means.task
    means.notes.write("copying", id=task.copy, name=task.copy_name)
    specs = task.before if task.removes else task.goal
    cloud.copy_flavor(task.id, task.copy, task.copy_name, specs)
    made = cloud.flavor(task.copy)
    missing = [name for name in specs if made is None or made.properties.get(name) != specs[name]]
    if missing:
        raise ActionError(f"Nova took it, and does not have it: {', '.join(missing)}")


def _remove(means: CloudMeans) -> None:
    cloud, task = means.cloud, means.task
    if cloud.flavor(task.copy) is None:
        return
    check_unused(cloud, task)
    means.notes.write("removing", id=task.copy)
    cloud.delete_flavor(task.copy)
