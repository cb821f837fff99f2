"""Copies of flavors are created and deleted.

Source of the fields: Nova 34.0.0, ``api/openstack/compute/schemas/flavors.py`` and
``flavor_access.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from vnicaudit.errors import ActionError
from vnicaudit.model.cloud_state import FlavorState
from vnicaudit.platforms.openstack.client import AnswerError, ChangingClient, part
from vnicaudit.platforms.openstack.failures import plain
from vnicaudit.platforms.openstack.servers import Text, text_of
from vnicaudit.platforms.openstack.states import decoded

T = TypeVar("T")

_WITH_SPECS = "2.61"
_GONE, _THERE = 404, 409
_MOST = 1000


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


class FlavorCopies:
    """The part of a cloud's control that handles flavors."""

    def __init__(self, client: ChangingClient) -> None:
        self._client = client

    def flavor(self, flavor_id: str) -> FlavorState | None:
        """The current state of a flavor; None if there is none. Raises ActionError."""
        raw = self._raw(flavor_id)
        return None if raw is None else FlavorState(raw.id, plain(raw.name), raw.properties)

    def copy_flavor(
        self, flavor_id: str, copy_id: str, name: str, properties: Mapping[str, str | None]
    ) -> None:
        """Create a copy of a flavor, or complete what an earlier call created. Raises
        ActionError."""
        source = self._raw(flavor_id)
        if source is None:
            raise ActionError(f"flavor {flavor_id[:60]} no longer exists")
        if self._raw(copy_id) is None:
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
        return len(_decoded(self._client.get("compute", "/servers", query), _ServerList).servers)

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
        for each in _decoded(access, _Accesses).flavor_access:
            body = {"addTenantAccess": {"tenant": each.tenant_id}}
            try:
                self._client.send("POST", "compute", f"/flavors/{part(copy_id)}/action", body)
            except AnswerError as error:
                if error.status != _THERE:
                    raise

    def _raw(self, flavor_id: str) -> RawFlavorDetails | None:
        path = f"/flavors/{part(flavor_id)}"
        try:
            body = self._client.get("compute", path, microversion=_WITH_SPECS)
        except AnswerError as error:
            if error.status == _GONE:
                return None
            raise
        return _decoded(body, _FlavorBody).flavor


def _copied(source: RawFlavorDetails, copy_id: str, name: str) -> dict[str, object]:
    return {
        "id": copy_id,
        "name": name,
        "ram": source.ram,
        "vcpus": source.vcpus,
        "disk": source.disk,
        "OS-FLV-EXT-DATA:ephemeral": source.ephemeral,
        "swap": _swap(source),
        "rxtx_factor": source.rxtx_factor,
        "os-flavor-access:is_public": source.public,
        "description": source.description,
    }


def _swap(source: RawFlavorDetails) -> int:
    try:
        return int(source.swap or 0)
    except ValueError:
        raise ActionError(f"Nova's answer for flavor {source.id[:60]} is invalid: swap") from None


def _decoded(body: bytes, kind: type[T]) -> T:
    return decoded(body, kind, "Nova's answer is not a flavor")
