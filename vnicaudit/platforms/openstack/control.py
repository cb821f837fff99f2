"""A cloud in which servers, images and flavors are changed. The only module that uses a cloud for
more than reading.

Sources: Nova 34.0.0, ``api/openstack/compute/servers.py`` (``os-stop``, ``os-start``, ``reboot``)
and ``server_diagnostics.py`` (its 400: "Compute node is too old", since 16.0); Glance 33.0.0,
``api/v2/images.py`` (``_do_add`` sets a property whether it exists or not, ``_do_remove`` requires
it to exist). Fields of flavors, which are copied: Nova's ``schemas/flavors.py`` and
``flavor_access.py``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from vnicaudit.base.wording import plain, word
from vnicaudit.errors import ActionError, GoneError, NotVisibleError, TargetError
from vnicaudit.model.runs import FlavorState, PortState, ServerState
from vnicaudit.platforms.openstack import servers as states
from vnicaudit.platforms.openstack.client import AnswerError, ChangingClient, part
from vnicaudit.platforms.openstack.connect import CloudLogin, Login
from vnicaudit.platforms.openstack.connect import connect as log_in
from vnicaudit.platforms.openstack.listing import microversion_text, releases
from vnicaudit.platforms.openstack.servers import Text, decoded, text_of
from vnicaudit.platforms.openstack.session import bare_url
from vnicaudit.text.targets import client

_WITH_SPECS = "2.61"
_GONE, _THERE = 404, 409
_MOST = 1000
_NO_FLAVOR = "Nova's answer is not a flavor"


class RawFlavorDetails(msgspec.Struct):
    """One flavor in the answer to ``GET /flavors/{id}``."""

    id: str
    name: str
    ram: int
    vcpus: int
    disk: int
    ephemeral: int = msgspec.field(name="OS-FLV-EXT-DATA:ephemeral", default=0)
    swap: int | str = 0
    """An empty text if there is none."""
    rxtx_factor: float = 1.0
    public: bool = msgspec.field(name="os-flavor-access:is_public", default=True)
    description: str | None = None
    extra_specs: dict[str, Text] = {}

    @property
    def properties(self) -> dict[str, str]:
        """The extra specs of the flavor, as texts."""
        return {name: text_of(value) for name, value in self.extra_specs.items()}


class _FlavorBody(msgspec.Struct):
    flavor: RawFlavorDetails


class _Access(msgspec.Struct):
    tenant_id: str


class _Accesses(msgspec.Struct):
    flavor_access: list[_Access] = []


class _ServerList(msgspec.Struct):
    servers: list[msgspec.Raw] = []


def _copied(source: RawFlavorDetails, copy_id: str, name: str) -> dict[str, object]:
    try:
        swap = int(source.swap or 0)
    except ValueError:
        raise ActionError(f"Nova's answer for flavor {source.id[:60]} is invalid: swap") from None
    made = replace(source, id=copy_id, name=name, swap=swap)
    body: dict[str, object] = msgspec.to_builtins(made)
    del body["extra_specs"]  # set by a request of their own
    return body


_STORED = (2, 98)
_COUNTED = (2, 48)
_EXPLAINED = (2, 84)
_LEAST = (2, 1)
_PATCH = "application/openstack-images-v2.1-json-patch"
_PROJECT = re.compile(r"/(AUTH_)?[0-9a-f]{32}$")
_MOST_VOLUMES = 256
_UNTOLD = (400, 403, 404, 409, 501)
"""Answers of ``diagnostics`` without data: the compute node is too old (during an upgrade), this
user may not, the server is gone, it is off, its driver has none."""
_NO_VOLUME = (
    "Cinder does not know volume {volume}, which Nova has attached to it (or this user may not "
    "see it): once stopped, the server might not start again. Check with {openstack} volume show "
    "{volume}; if it is gone, detach it with {openstack} server remove volume {server} {volume}"
)
_NO_SERVER = (
    "Nova does not know server {server}, not even as deleted (or this user may not see it): is "
    "openstack:{cloud} now another cloud, region or project than when the plan was made? If it "
    "was deleted long ago, remove its step from the plan"
)
_UNSEEN_VOLUME = "its volume {volume} cannot be checked, so another server may have it too: {why}"


def connect(name: str, *, deadline: float, login: Login = log_in) -> Control:
    """A cloud in which servers can be changed. Raises TargetError if it cannot be reached."""
    cloud = login(name, deadline=deadline, total=None)
    control = Control(cloud, ChangingClient(cloud))
    try:
        control.open()
    except ActionError as error:
        raise TargetError(str(error), file=cloud.target) from None
    return control


class Control:
    """A Cloud (``vnicaudit/remedy/hypervisor.py``). Any thread may use it."""

    def __init__(self, cloud: CloudLogin, client: ChangingClient) -> None:
        self._client = client
        self.name = cloud.name
        self.key = ""
        self.release: tuple[int | None, int | None] = (None, None)
        self._cloud = cloud
        self._highest = _LEAST

    def open(self) -> None:
        """Determine the release of Nova. Raises ActionError."""
        nova = self._client.endpoint("compute")
        self._highest = nova.microversion or _LEAST
        versions = releases(nova.microversion)
        self.release = versions.oldest, versions.newest
        self.key = _PROJECT.sub("", bare_url(nova.url))

    def server(self, server_id: str) -> ServerState:
        """The current state of a server."""
        return states.server_of(self._server_body(server_id))

    def ports(self, server_id: str) -> tuple[PortState, ...]:
        """The ports of the server."""
        fields = (("fields", name) for name in ("id", "mac_address", "status"))
        query = (("device_id", server_id), *fields)
        return states.ports_of(self._client.get("network", "/ports", query))

    def packets_sent(self, server_id: str) -> dict[str, int] | None:
        """MAC -> packets that its guest has sent; None if unknown. They only serve as a proof after
        a change, so changes work without them."""
        if self._highest < _COUNTED:
            return None
        path = f"/servers/{part(server_id)}/diagnostics"
        try:
            return states.sent_of(
                self._client.get("compute", path, (), microversion_text(_COUNTED))
            )
        except AnswerError as error:
            if error.status in _UNTOLD:
                return None
            raise

    def shared_volumes(self, server_id: str) -> tuple[str, ...]:
        """Volumes of the server that other servers have too. Raises ActionError if one cannot be
        checked: the server is not stopped then. A volume that Cinder does not know (404) keeps Nova
        from starting the server (``attachment_get`` in nova/virt/block_device.py, Nova 34.0.0)."""
        volumes = states.volumes_of(self._server_body(server_id))
        if len(volumes) > _MOST_VOLUMES:
            raise ActionError(
                f"it has {len(volumes)} volumes, and at most {_MOST_VOLUMES} are checked"
            )
        return tuple(
            volume
            for volume in volumes
            if states.attached_to(self._volume(server_id, volume)) - {server_id}
        )

    def trouble(self, server_id: str) -> str:
        """The error of the last request for a server, as recorded by Nova; empty if the request
        succeeded, or Nova is too old to report it."""
        if self._highest < _EXPLAINED:
            return ""
        request = states.failed_request(self._actions(server_id))
        if not request:
            return ""
        path = f"/servers/{part(server_id)}/os-instance-actions/{part(request)}"
        return states.details_of(
            self._client.get("compute", path, (), microversion_text(_EXPLAINED))
        )

    def stop(self, server_id: str) -> None:
        """Request a shutdown of the server."""
        self._act(server_id, {"os-stop": None})

    def start(self, server_id: str) -> None:
        """Request a start of the server."""
        self._act(server_id, {"os-start": None})

    def hard_reboot(self, server_id: str) -> None:
        """Request a hard reboot of the server."""
        self._act(server_id, {"reboot": {"type": "HARD"}})

    def image_properties(self, image_id: str) -> dict[str, str]:
        """The properties of an image, with some of its attributes."""
        body = self._client.get("image", f"/images/{part(image_id)}")
        raw = states.decoded(body, dict[str, object], "Glance's answer is not an image")
        return {name: value for name, value in raw.items() if isinstance(value, str)}

    def set_image_properties(self, image_id: str, properties: Mapping[str, str | None]) -> None:
        """Set properties of an image; remove those that are None."""
        now = self.image_properties(image_id)
        patch = [
            {"op": "remove", "path": f"/{name}"} if value is None
            else {"op": "add", "path": f"/{name}", "value": value}
            for name, value in properties.items()
            if value is not None or name in now
        ]  # fmt: skip
        self._client.send("PATCH", "image", f"/images/{part(image_id)}", patch, content=_PATCH)

    def flavor(self, flavor_id: str) -> FlavorState | None:
        """The current state of a flavor; None if there is none. Raises ActionError."""
        raw = self._raw_flavor(flavor_id)
        return None if raw is None else FlavorState(raw.id, plain(raw.name), raw.properties)

    def copy_flavor(
        self, flavor_id: str, copy_id: str, name: str, properties: Mapping[str, str | None]
    ) -> None:
        """Create a copy of a flavor, or complete what an earlier call created. Raises
        ActionError."""
        source = self._raw_flavor(flavor_id)
        if source is None:
            raise ActionError(f"flavor {flavor_id[:60]} no longer exists")
        if self._raw_flavor(copy_id) is None:
            body = {"flavor": _copied(source, copy_id, name)}
            self._client.send("POST", "compute", "/flavors", body, microversion="2.55")
        specs = {**source.properties, **properties}
        wanted = {key: value for key, value in specs.items() if value is not None}
        if wanted:
            path = f"/flavors/{part(copy_id)}/os-extra_specs"
            self._client.send("POST", "compute", path, {"extra_specs": wanted})
        if not source.public:
            self._share(flavor_id, copy_id)

    def flavor_servers(self, flavor_id: str) -> int:
        """Number of servers with the flavor, in all projects; at most a page of them. Raises
        ActionError."""
        query = (("flavor", flavor_id), ("all_tenants", "True"), ("limit", str(_MOST)))
        return len(
            decoded(self._client.get("compute", "/servers", query), _ServerList, _NO_FLAVOR).servers
        )

    def delete_flavor(self, flavor_id: str) -> None:
        """Delete a flavor; do nothing if it is gone. Raises ActionError."""
        try:
            self._client.send("DELETE", "compute", f"/flavors/{part(flavor_id)}")
        except AnswerError as error:
            if error.status != _GONE:
                raise

    def _share(self, flavor_id: str, copy_id: str) -> None:
        """Give the same projects access to the copy."""
        access = self._client.get("compute", f"/flavors/{part(flavor_id)}/os-flavor-access")
        for each in decoded(access, _Accesses, _NO_FLAVOR).flavor_access:
            body = {"addTenantAccess": {"tenant": each.tenant_id}}
            try:
                self._client.send("POST", "compute", f"/flavors/{part(copy_id)}/action", body)
            except AnswerError as error:
                if error.status != _THERE:
                    raise

    def _raw_flavor(self, flavor_id: str) -> RawFlavorDetails | None:
        path = f"/flavors/{part(flavor_id)}"
        try:
            body = self._client.get("compute", path, microversion=_WITH_SPECS)
        except AnswerError as error:
            if error.status == _GONE:
                return None
            raise
        return decoded(body, _FlavorBody, _NO_FLAVOR).flavor

    def close(self) -> None:
        """Nothing to close: no connection is kept open."""

    def _server_body(self, server_id: str) -> bytes:
        microversion = microversion_text(min(self._highest, _STORED))
        try:
            return self._client.get("compute", f"/servers/{part(server_id)}", (), microversion)
        except AnswerError as error:
            if error.status != _GONE:
                raise
        name = plain(server_id)
        if self._was_deleted(server_id):
            raise GoneError(f"server {name} no longer exists")
        raise NotVisibleError(_NO_SERVER.format(server=name, cloud=plain(self.name)))

    def _was_deleted(self, server_id: str) -> bool:
        """True if Nova still lists the actions on a server that it no longer shows: deleted servers
        keep theirs (since 2.21, ``_get_instance`` in
        nova/api/openstack/compute/instance_actions.py, Nova 34.0.0) until they are archived. False
        for a server of another cloud, or of a project hidden from this user."""
        if self._highest < _EXPLAINED:
            return False
        try:
            self._actions(server_id)
        except AnswerError:
            return False
        return True

    def _actions(self, server_id: str) -> bytes:
        """The latest action on a server, as the body of an answer."""
        path = f"/servers/{part(server_id)}/os-instance-actions"
        return self._client.get("compute", path, (("limit", "1"),), microversion_text(_EXPLAINED))

    def _volume(self, server_id: str, volume: str) -> bytes:
        try:
            return self._client.get("block-storage", f"/volumes/{part(volume)}")
        except AnswerError as error:
            name = plain(volume)
            if error.status == _GONE:
                words = _NO_VOLUME.format(
                    volume=word(name), server=word(server_id), openstack=client(self._cloud.target)
                )
                raise ActionError(words) from None
            raise ActionError(_UNSEEN_VOLUME.format(volume=name, why=error)) from None

    def _act(self, server_id: str, body: dict[str, object]) -> None:
        self._client.send("POST", "compute", f"/servers/{part(server_id)}/action", body)
