"""The image properties that Nova keeps for a server: read, compared, set.

They are read from the API where it says them (microversion 2.98), else by ``nova-manage``; both are
``system_metadata`` of the instance (``_get_image`` in nova/api/openstack/compute/views/servers.py,
``show`` in nova/cmd/manage.py; Nova 34.0.0).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vnicaudit.errors import ActionError, SilentError
from vnicaudit.model.cloud_state import ServerState
from vnicaudit.model.openstack import as_flag, normal_vif_model
from vnicaudit.model.server import FLAVOR_WORDS, MODEL
from vnicaudit.remedy.applying.clouds.means import POLL, CloudMeans, look
from vnicaudit.remedy.applying.clouds.nova_manage import HalfSetError, Manage, NotSetError
from vnicaudit.remedy.applying.clouds.sets import (
    HALF_SET,
    NOT_SET,
    SET,
    SETTING,
    doubtful,
    unseen,
)
from vnicaudit.remedy.applying.clouds.task import Properties
from vnicaudit.remedy.applying.journal import seconds_since
from vnicaudit.remedy.applying.means import wait_until

_LANDS_SECONDS = 20.0
"""How long a guest that is off waits for a nova-manage whose end was not seen: it has set what it
was to set in four, on a controller that is not busy. The rest of ``Limits.manage_seconds`` is
waited out when the guest runs again."""
_WATCH_SECONDS = 15.0
_TRIES = 2
"""How often a set may end in doubt."""


class ForeignError(ActionError):
    """What is kept is neither what it was before nor what it is to be: somebody else set it."""

    def __init__(self, what: str) -> None:
        super().__init__(f"somebody else changed it meanwhile: {what}; it was left as it is now")


def same(name: str, one: str | None, other: str | None) -> bool:
    """Whether two values mean the same to Nova. A flag that is not set is off."""
    if name in FLAVOR_WORDS:
        return as_flag(one or "") == as_flag(other or "")
    if name == MODEL and one is not None and other is not None:
        return normal_vif_model(one) == normal_vif_model(other)
    return one == other


def differing(now: Mapping[str, str | None], wanted: Mapping[str, str | None]) -> str:
    """What of it is not as wanted, in words; empty: nothing."""
    return ", ".join(
        f"{name} is {_shown(now.get(name))}, not {_shown(value)}"
        for name, value in wanted.items()
        if not same(name, now.get(name), value)
    )


def current(state: ServerState, manage: Manage, names: Iterable[str]) -> Properties:
    """What is kept of these properties; an empty value is none, as to nova-manage. Raises
    ActionError where it cannot be read."""
    if state.kept is not None:
        return {name: state.kept.get(name) or None for name in names}
    return {name: manage.show(state.id, name) for name in names}


def read(means: CloudMeans) -> Properties:
    """What is kept now of what is to be changed. Raises ActionError, SilentError."""
    return current(look(means), means.manage, means.task.goal)


def is_ours(means: CloudMeans, now: Properties) -> bool:
    """Whether each is what it was before, what it is to be, or what the way back makes of it."""
    task = means.task
    known = (task.before, task.goal, task.back)
    return all(any(same(name, now[name], of.get(name)) for of in known) for name in task.goal)


def is_missing(means: CloudMeans, now: Properties, wanted: Properties) -> bool:
    """Whether it has to be set: it is not so, or it is, and may be so by half. What this task has
    not set yet may be a doubt of an earlier run."""
    if differing(now, wanted):
        return True
    doubts = doubtful(means.notes.entries())
    if doubts is None:
        return means.task.again and wanted == means.task.goal
    return any(not differing(one, wanted) for one in doubts)


def put(means: CloudMeans, wanted: Properties) -> None:
    """Have Nova keep these, of a server that is off; nothing where it does. Raises ForeignError,
    ActionError where nova-manage did not end with 0: what is read then is half of what is kept."""
    now = read(means)
    if not is_missing(means, now, wanted):
        return
    if not is_ours(means, now):
        raise ForeignError(differing(now, means.task.before))
    means.tell("setting " + ", ".join(f"{name}={value}" for name, value in wanted.items()))
    _set(means, wanted, _TRIES)
    if missing := differing(read(means), wanted):
        raise ActionError(f"nova-manage set it, and Nova did not keep it: {missing}")


def settle(means: CloudMeans) -> None:
    """Wait for a nova-manage whose end was not seen: it may still be at work on the controller, and
    set the property when everything was put back. Raises ActionError where it cannot be told."""
    found = unseen(means.notes.entries())
    if not found:
        return
    wanted: Properties = found[-1].data["properties"]
    left = min(_LANDS_SECONDS, means.limits.manage_seconds) - seconds_since(found[-1])
    wait_until(lambda: not differing(read(means), wanted), left, POLL)


def came_late(means: CloudMeans) -> str:
    """What a nova-manage whose end was not seen has set after all, of what was put back; empty:
    nothing, and it will not any more. Raises ActionError where it cannot be told."""
    back = means.task.back
    found = [
        one for one in unseen(means.notes.entries()) if differing(one.data["properties"], back)
    ]
    if not found:
        return ""
    means.tell("waiting for a nova-manage whose end was not seen")
    left = means.limits.manage_seconds - seconds_since(found[-1])
    wait_until(lambda: bool(differing(read(means), back)), left, _WATCH_SECONDS)
    late = differing(read(means), back)
    return f"a nova-manage whose end was not seen came late: {late}" if late else ""


def _set(means: CloudMeans, wanted: Properties, tries: int) -> None:
    """Set it; once more where it is in doubt, for to set it twice is to set it."""

    def begins() -> None:
        means.notes.write(SETTING, properties=wanted)

    try:
        means.manage.set(means.task.id, wanted, begins)
    except SilentError:
        raise
    except NotSetError:
        means.notes.write(NOT_SET)
        raise
    except ActionError as error:
        if isinstance(error, HalfSetError):
            means.notes.write(HALF_SET)
        if tries <= 1:
            raise
        _set(means, wanted, tries - 1)
    else:
        means.notes.write(SET)


def _shown(value: str | None) -> str:
    return "not set" if value is None else value[:60]
