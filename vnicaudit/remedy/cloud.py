"""The interface to a cloud for changing servers, images and flavors, and how it is reached.

Every method raises ActionError with what failed: SilentError where the cloud stopped answering (the
request may still take effect).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from vnicaudit.model.cloud_state import FlavorState, PortState, ServerState

MANAGE_SECONDS = 60.0
"""Default timeout of a nova-manage call: it takes four seconds on an idle controller, and a server
is off meanwhile."""


MANAGE_JOBS = 4
"""Default number of nova-manage calls at a time. Each is a separate program: 166 MB and 3.6 s of
one core, nearly all of it to load Nova (34.0.0, measured), and one connection each to the API's and
to a cell's database. They write rows of their own instance only (``_update_image_properties`` in
nova/cmd/manage.py), so that any number is right; four are 0.7 GB and eight connections, which a
controller has to spare."""


class Cloud(Protocol):
    """One cloud. ``key`` is the same under whatever name it was reached."""

    name: str
    key: str
    release: tuple[int | None, int | None]
    """The oldest and the newest major version of Nova that it may be; None: not known."""

    def server(self, server_id: str) -> ServerState:
        """A server as it is now. Raises GoneError where it was deleted, RefusedError for an unknown
        id that nothing shows to have existed: this may be a different cloud."""

    def ports(self, server_id: str) -> tuple[PortState, ...]:
        """The ports of the server."""

    def packets_sent(self, server_id: str) -> dict[str, int] | None:
        """MAC -> packets that its guest has sent since it was started; None: hidden from this user,
        or the server does not run."""

    def shared_volumes(self, server_id: str) -> tuple[str, ...]:
        """Volumes of it that other servers have attached too. Raises ActionError where one cannot
        be checked."""

    def trouble(self, server_id: str) -> str:
        """Nova's account of what went wrong with the last request on the server; empty where it
        succeeded, or where that is unknown."""

    def stop(self, server_id: str) -> None:
        """Request a shutdown (the guest is asked first). Returns at once."""

    def start(self, server_id: str) -> None:
        """Request a start; Nova rewrites its definition. Returns at once."""

    def hard_reboot(self, server_id: str) -> None:
        """Request a hard reboot; Nova rewrites its definition. Returns at once."""

    def image_properties(self, image_id: str) -> dict[str, str]:
        """The properties of an image as they are now."""

    def set_image_properties(self, image_id: str, properties: Mapping[str, str | None]) -> None:
        """Set some, remove those that are None; the rest stay as they are."""

    def flavor(self, flavor_id: str) -> FlavorState | None:
        """A flavor as it is now; None: there is none."""

    def copy_flavor(
        self, flavor_id: str, copy_id: str, name: str, properties: Mapping[str, str | None]
    ) -> None:
        """Make a flavor like that one, but for its id, its name and these extra specs (None:
        without it), for the same projects. An incomplete copy by an earlier call is completed."""

    def flavor_servers(self, flavor_id: str) -> int:
        """The number of servers with that flavor, at least; 0 is certain."""

    def delete_flavor(self, flavor_id: str) -> None:
        """Delete a flavor."""

    def close(self) -> None:
        """Disconnect."""


class CommandOutput(msgspec.Struct, frozen=True):
    """The result of a command: its exit code and output."""

    code: int
    text: str = ""
    errors: str = ""
    """Standard error, where nova-manage logs."""


class NovaManage(Protocol):
    """``nova-manage``, on a controller. Any thread may call it."""

    def __call__(self, arguments: Sequence[str]) -> CommandOutput:
        """Run it with these arguments to its end. Raises ActionError where it could not be run at
        all, or where it is not known how it ended: it may still be at work then."""


class CloudAccess(msgspec.Struct, frozen=True):
    """Access to a cloud beside its API. ``libvirt``: URI of a compute node's libvirt,
    ``qemu+ssh://{host}/system``; empty: it cannot be reached. ``trusted``: libvirt URIs that the
    user named, and that may therefore start programs. ``jobs``: how many nova-manage may run at a
    time."""

    manage: NovaManage | None = None
    libvirt: str = ""
    trusted: frozenset[str] = frozenset()
    jobs: int = MANAGE_JOBS


class ConnectCloud(Protocol):
    """Connects to a cloud."""

    def __call__(self, name: str, *, deadline: float) -> Cloud:
        """A cloud in which servers can be changed; ``deadline``: seconds it may take for an answer.
        Raises TargetError where it cannot be reached."""
