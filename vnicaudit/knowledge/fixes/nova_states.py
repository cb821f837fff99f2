"""Commands that bring a server of a cloud from its current status to running or off; and the limit
of ``nova-manage image_property set`` in an older Nova: the request specification.

Source: Nova 34.0.0, ``compute/api.py``: the states in which each command is accepted (a hard reboot
in ERROR as well).

Before 30.0 ``image_property set`` changed only the server's own copy of the properties (Launchpad
bug 2078999; fixed by 2a1fad4145, also in 29.2.1 and 28.3.1: nova/cmd/manage.py of all releases from
25.3.0). A resize and a cold migration use ``request_spec.image`` (nova/conductor/tasks/migrate.py,
Nova 34.0.0); an evacuation uses the server's own copy (``instance.image_meta`` in
nova/compute/manager.py). So does a hard reboot, as seen on a real Nova 29.0.2: it restores the
value that was set, which ``image_property show`` prints all the time.
"""

from __future__ import annotations

from vnicaudit.base.shell import word
from vnicaudit.text.cloud_names import client

COMES_BACK = (
    "unless this Nova has the fix of Launchpad bug 2078999 (28.3.1, 29.2.1, 30.0), a resize or "
    "cold migration brings the old value back until the next hard reboot: hard-reboot the server "
    "after one"
)

_COMMANDS = {
    "PAUSED": "{openstack} server unpause {id}",
    "SUSPENDED": "{openstack} server resume {id}",
    "RESCUE": "{openstack} server unrescue {id}",
    "SHELVED": "{openstack} server unshelve {id}",
    "SHELVED_OFFLOADED": "{openstack} server unshelve {id}",
    "VERIFY_RESIZE": "{openstack} server resize confirm {id} (or revert)",
    "ERROR": (
        "{openstack} server show -c fault {id} shows why; correct that, then {openstack} server "
        "reboot --hard {id}"
    ),
    "SOFT_DELETED": "{openstack} server restore {id}",
}
_STATES = {
    "PAUSED": "PAUSED",
    "SUSPENDED": "SUSPENDED",
    "RESCUED": "RESCUE",
    "RESIZED": "VERIFY_RESIZE",
}
"""Nova's internal name of a state -> the status that users see."""


def way_on(status: str, server_id: str, target: str) -> str:
    """The command for a server with that status in that cloud; empty if there is nothing to do but
    wait."""
    name = _STATES.get(status, status)
    return _COMMANDS.get(name, "").format(openstack=client(target), id=word(server_id))
