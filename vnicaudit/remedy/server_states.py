"""What brings a server of a cloud to where it runs or is off, by its status.

Source: Nova 34.0.0, ``compute/api.py``: the states in which each of these is taken (a hard reboot
in ERROR as well).
"""

from __future__ import annotations

from vnicaudit.text.cloud_names import client
from vnicaudit.text.shell import word

_COMMANDS = {
    "PAUSED": "{openstack} server unpause {id}",
    "SUSPENDED": "{openstack} server resume {id}",
    "RESCUE": "{openstack} server unrescue {id}",
    "SHELVED": "{openstack} server unshelve {id}",
    "SHELVED_OFFLOADED": "{openstack} server unshelve {id}",
    "VERIFY_RESIZE": "{openstack} server resize confirm {id} (or revert)",
    "ERROR": (
        "{openstack} server show -c fault {id} says why; put that right, then {openstack} server "
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
"""What Nova calls the state itself -> the status that users are shown."""


def way_on(status: str, server_id: str, target: str) -> str:
    """The command for a server of that target, in that status; empty where there is none but to
    wait."""
    name = _STATES.get(status, status)
    return _COMMANDS.get(name, "").format(openstack=client(target), id=word(server_id))
