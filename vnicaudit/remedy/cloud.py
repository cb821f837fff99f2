"""The interface to a cloud for changing servers, images and flavors, and how it is reached.

Every method raises ActionError with what failed: SilentError where the cloud stopped answering
(what was asked may still happen).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from vnicaudit.model.cloud_state import FlavorState, PortState, ServerState

MANAGE_SECONDS = 60.0
"""In which a nova-manage has ended, or is not waited for any more, unless somebody says otherwise:
it takes four seconds on a controller that is not busy, and a server is off meanwhile."""


MANAGE_JOBS = 4
"""How many nova-manage run at a time unless somebody says otherwise. Each is a program of its own:
166 MB and 3.6 s of one core, nearly all of it to load Nova (34.0.0, measured), and one connection
each to the API's and to a cell's database. They write rows of their own instance only
(``_update_image_properties`` in nova/cmd/manage.py), so that any number is right; four are 0.7 GB
and eight connections, which a controller has to spare."""


class Cloud(Protocol):
    """One cloud. ``key`` is the same whatever name it was reached by."""

    name: str
    key: str
    release: tuple[int | None, int | None]
    """The oldest and the newest major version of Nova that it may be; None: not known."""

    def server(self, server_id: str) -> ServerState:
        """A server as it is now. Raises GoneError where it was deleted, RefusedError where there is
        none of that id, and nothing tells that there was: this may be another cloud."""

    def ports(self, server_id: str) -> tuple[PortState, ...]:
        """The ports of the server."""

    def packets_sent(self, server_id: str) -> dict[str, int] | None:
        """MAC -> packets that its guest has sent since it was started; None: this user is not
        told, or the server does not run."""

    def shared_volumes(self, server_id: str) -> tuple[str, ...]:
        """Volumes of it that other servers have attached too. Raises ActionError where one
        cannot be looked at."""

    def trouble(self, server_id: str) -> str:
        """Nova's account of what went wrong with the last request on the server; empty where it
        succeeded, or nobody says."""

    def stop(self, server_id: str) -> None:
        """Ask for it to be shut down (its guest is asked first). Returns at once."""

    def start(self, server_id: str) -> None:
        """Ask for it to be started; Nova makes its definition anew. Returns at once."""

    def hard_reboot(self, server_id: str) -> None:
        """Ask for a hard reboot; Nova makes its definition anew. Returns at once."""

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
        without it), for the same projects. What an earlier call made of it is completed."""

    def flavor_servers(self, flavor_id: str) -> int:
        """How many servers have that flavor, at least: 0 is sure."""

    def delete_flavor(self, flavor_id: str) -> None:
        """Delete a flavor."""

    def close(self) -> None:
        """Leave."""


class CommandOutput(msgspec.Struct, frozen=True):
    """How a command ended: its exit code, and what it said."""

    code: int
    text: str = ""
    errors: str = ""
    """On standard error: nova-manage logs there."""


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
    """How a cloud is reached."""

    def __call__(self, name: str, *, deadline: float) -> Cloud:
        """A cloud in which servers can be changed; ``deadline``: seconds it may take for an answer.
        Raises TargetError where it cannot be reached."""
