"""The image properties that Nova stores for a server: read, compare and set them.

They are read from the API where it reports them (microversion 2.98), else by ``nova-manage``; both
are ``system_metadata`` of the instance (``_get_image`` in
nova/api/openstack/compute/views/servers.py, ``show`` in nova/cmd/manage.py; Nova 34.0.0).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vnicaudit.errors import ActionError, SilentError
from vnicaudit.model.cloud_state import ServerState
from vnicaudit.model.openstack import as_flag, normal_vif_model
from vnicaudit.model.server import FLAVOR_WORDS, MODEL
from vnicaudit.remedy.applying.clouds.nova_manage import HalfSetError, Manage, NotSetError
from vnicaudit.remedy.applying.clouds.nova_manage_journal import doubtful, unseen
from vnicaudit.remedy.applying.clouds.server_state import POLL, current_server
from vnicaudit.remedy.applying.clouds.work import CloudWork
from vnicaudit.remedy.applying.journal.events import HalfSet, NotSet, Properties, Set, Setting
from vnicaudit.remedy.applying.journal.journal_file import seconds_since
from vnicaudit.remedy.applying.verifying import wait_until

_LANDS_SECONDS = 20.0
"""How long a guest that is off waits for a nova-manage with unknown result: on an idle controller
it has set the properties within four seconds. The rest of ``Limits.manage_seconds`` is waited for
after the guest is running again."""
_WATCH_SECONDS = 15.0
_TRIES = 2
"""How often a set may end with an unknown result."""


class ForeignError(ActionError):
    """The stored properties were set by somebody else: they are neither as before nor as
    planned."""

    def __init__(self, what: str) -> None:
        super().__init__(f"somebody else changed it in the meantime: {what}; their change was kept")


def means_the_same(name: str, one: str | None, other: str | None) -> bool:
    """True if two values of the property ``name`` mean the same to Nova. An unset flag is off."""
    if name in FLAVOR_WORDS:
        return as_flag(one or "") == as_flag(other or "")
    if name == MODEL and one is not None and other is not None:
        return normal_vif_model(one) == normal_vif_model(other)
    return one == other


def differing(now: Mapping[str, str | None], wanted: Mapping[str, str | None]) -> str:
    """The properties that differ from those wanted, as text (``NAME is X, not Y``); empty: none."""
    return ", ".join(
        f"{name} is {_value_words(now.get(name))}, not {_value_words(value)}"
        for name, value in wanted.items()
        if not means_the_same(name, now.get(name), value)
    )


def current(state: ServerState, manage: Manage, names: Iterable[str]) -> Properties:
    """The stored values of these properties; an empty value counts as not set, as in nova-manage.
    Raises ActionError if they cannot be read."""
    if state.stored_properties is not None:
        return {name: state.stored_properties.get(name) or None for name in names}
    return {name: manage.show(state.id, name) for name in names}


def read_stored(work: CloudWork) -> Properties:
    """The stored values, as of now, of the properties that the transaction changes. Raises
    ActionError, SilentError."""
    return current(current_server(work), work.place.manage, work.transaction.goal)


def is_ours(work: CloudWork, now: Properties) -> bool:
    """True if each property has its value from before the transaction, its goal, or the value that
    a rollback gives it."""
    transaction = work.transaction
    known = (transaction.before, transaction.goal, transaction.back)
    return all(
        any(means_the_same(name, now[name], of.get(name)) for of in known)
        for name in transaction.goal
    )


def is_missing(work: CloudWork, now: Properties, wanted: Properties) -> bool:
    """True if the properties have to be set: they differ from ``wanted``, or may be half set. If
    this transaction has set nothing yet, the doubt may come from an earlier run."""
    if differing(now, wanted):
        return True
    doubts = doubtful(work.notes.entries())
    if doubts is None:
        return work.transaction.again and wanted == work.transaction.goal
    return any(not differing(one, wanted) for one in doubts)


def store(work: CloudWork, wanted: Properties) -> None:
    """Have Nova store these properties of a server that is off; does nothing if they are stored
    already. Raises ForeignError, and ActionError if nova-manage did not end with 0: of its two
    writes, only the first can be read."""
    now = read_stored(work)
    if not is_missing(work, now, wanted):
        return
    if not is_ours(work, now):
        raise ForeignError(differing(now, work.transaction.before))
    work.tell("setting " + ", ".join(f"{name}={value}" for name, value in wanted.items()))
    _set_with_retry(work, wanted, _TRIES)
    if missing := differing(read_stored(work), wanted):
        raise ActionError(f"nova-manage set it, but Nova did not store it: {missing}")


def settle(work: CloudWork) -> None:
    """Wait for a nova-manage with unknown result: it may still be running on the controller, and
    set the property after everything was restored. Raises ActionError if that cannot be
    determined."""
    found = unseen(work.notes.entries())
    if not found:
        return
    last, wanted = found[-1].line, found[-1].properties
    left = min(_LANDS_SECONDS, work.limits.manage_seconds) - seconds_since(last)
    wait_until(work.clock, lambda: not differing(read_stored(work), wanted), left, POLL)


def came_late(work: CloudWork) -> str:
    """The restored properties that a nova-manage with unknown result has changed after all, as
    text; empty if there are none and no further change is possible. Raises ActionError if that
    cannot be determined."""
    back = work.transaction.back
    found = [one for one in unseen(work.notes.entries()) if differing(one.properties, back)]
    if not found:
        return ""
    work.tell("waiting for a nova-manage call with unknown result")
    left = work.limits.manage_seconds - seconds_since(found[-1].line)
    wait_until(work.clock, lambda: bool(differing(read_stored(work), back)), left, _WATCH_SECONDS)
    late = differing(read_stored(work), back)
    return f"a nova-manage call with unknown result took effect later: {late}" if late else ""


def _set_with_retry(work: CloudWork, wanted: Properties, tries: int) -> None:
    """Set the properties, and once more if the result is unknown: setting them twice does no
    harm."""

    def begins() -> None:
        work.notes.write(Setting(wanted))

    try:
        work.place.manage.set_properties(work.transaction.id, wanted, begins)
    except SilentError:
        raise
    except NotSetError:
        work.notes.write(NotSet())
        raise
    except ActionError as error:
        if isinstance(error, HalfSetError):
            work.notes.write(HalfSet())
        if tries <= 1:
            raise
        _set_with_retry(work, wanted, tries - 1)
    else:
        work.notes.write(Set())


def _value_words(value: str | None) -> str:
    return "not set" if value is None else value[:60]
