"""The way back of what a run did to a server, an image or a flavor."""

from __future__ import annotations

from msgspec.structs import replace

from vnicaudit.errors import RefusedError
from vnicaudit.model.plan import Mode
from vnicaudit.remedy.applying.clouds.flavor import check_unused
from vnicaudit.remedy.applying.clouds.place import Place
from vnicaudit.remedy.applying.clouds.prepare import prepare_image
from vnicaudit.remedy.applying.clouds.prepare_server import ServerRequest, prepare_server
from vnicaudit.remedy.applying.clouds.task import CloudTask

_EDITED = (
    "somebody changed it since: look at it, then put the property back all the same with "
    "--over-edits"
)


def prepare_back(
    task: CloudTask, place: Place, mode: Mode, *, left_off: bool, over_edits: bool
) -> CloudTask | None:
    """The task that undoes ``task``; None: it is undone already. Raises RefusedError with why it is
    not begun, ActionError where it cannot be told."""
    made = replace(task.inverse(), mode=mode)
    if task.object == "server":
        macs = tuple(one.mac for one in task.wanted)
        request = ServerRequest(made, macs, left_off, over_edits, _EDITED)
        return prepare_server(request, place)
    if task.object == "image":
        return _image(made, place, over_edits=over_edits)
    return _flavor(made, place)


def _image(made: CloudTask, place: Place, *, over_edits: bool) -> CloudTask | None:
    if over_edits:
        found = place.cloud.image_properties(made.id)
        made = replace(made, before={name: found.get(name) for name in made.goal})
    try:
        return prepare_image(made, place)
    except RefusedError:
        raise RefusedError(_EDITED) from None


def _flavor(made: CloudTask, place: Place) -> CloudTask | None:
    """A copy that servers have cannot go."""
    there = place.cloud.flavor(made.copy) is not None
    if made.removes != there:
        return None
    if made.removes:
        check_unused(place.cloud, made)
    return made
