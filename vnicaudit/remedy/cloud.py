"""The interface to a cloud for changing servers, images and flavors, and how it is reached.

Every method raises ActionError with what failed: SilentError if the cloud stopped answering (the
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
nova/cmd/manage.py), so any number is correct; four take 0.7 GB and eight connections, which a
controller can spare."""


class Cloud(Protocol):
    """One cloud. ``key`` is the same whatever name was used to reach it."""

    name: str
    key: str
    release: tuple[int | None, int | None]
    """The oldest and the newest major version of Nova that the cloud may run; None: unknown."""

    def server(self, server_id: str) -> ServerState:
        """The present state of a server. Raises GoneError if it was deleted, RefusedError for an
        unknown id without any sign that it ever existed: this may be a different cloud."""

    def ports(self, server_id: str) -> tuple[PortState, ...]:
        """The ports of the server."""

    def packets_sent(self, server_id: str) -> dict[str, int] | None:
        """MAC -> packets that the guest has sent since it was started; None: hidden from this user,
        or the server does not run."""

    def shared_volumes(self, server_id: str) -> tuple[str, ...]:
        """The volumes that it shares with other servers. Raises ActionError if one cannot be
        checked."""

    def trouble(self, server_id: str) -> str:
        """Nova's account of what went wrong with the last request on the server; empty if it
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
        """Set these properties and remove those that are None; the others stay as they are."""

    def flavor(self, flavor_id: str) -> FlavorState | None:
        """A flavor as it is now; None: there is none."""

    def copy_flavor(
        self, flavor_id: str, copy_id: str, name: str, properties: Mapping[str, str | None]
    ) -> None:
        """Make a flavor like that one, except for its id, its name and these extra specs (None:
        without it), for the same projects. An incomplete copy by an earlier call is completed."""

    def flavor_servers(self, flavor_id: str) -> int:
        """The number of servers with that flavor, or a lower bound; 0 is certain."""

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
    """``nova-manage`` on a controller. Any thread may call it."""

    def __call__(self, arguments: Sequence[str]) -> CommandOutput:
        """Run it to its end with these arguments. Raises ActionError if it could not be run, or if
        its result is unknown: then it may still be running."""


class CloudAccess(msgspec.Struct, frozen=True):
    """Access to a cloud beside its API. ``libvirt``: URI of a compute node's libvirt,
    ``qemu+ssh://{host}/system``; empty: not reachable. ``trusted``: libvirt URIs that the user
    named, and that may therefore start programs. ``jobs``: how many nova-manage calls may run at a
    time."""

    manage: NovaManage | None = None
    libvirt: str = ""
    trusted: frozenset[str] = frozenset()
    jobs: int = MANAGE_JOBS


class ConnectCloud(Protocol):
    """Connects to a cloud."""

    def __call__(self, name: str, *, deadline: float) -> Cloud:
        """A cloud in which servers can be changed; ``deadline``: timeout in seconds of one call.
        Raises TargetError if it cannot be reached."""
