"""A flavor made like another one, and deleted.

Source of the fields: Nova 34.0.0, ``api/openstack/compute/schemas/flavors.py`` and
``flavor_access.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar
from urllib.parse import quote

import msgspec

from vnicaudit.errors import ActionError
from vnicaudit.model.cloud_state import FlavorState
from vnicaudit.model.decoding import json_decoder
from vnicaudit.platforms.openstack.failures import plain
from vnicaudit.platforms.openstack.flavors import text_of
from vnicaudit.platforms.openstack.orders import AnswerError, Orders
from vnicaudit.platforms.openstack.servers import Text

T = TypeVar("T")

_WITH_SPECS = "2.61"
_GONE, _THERE = 404, 409
_MOST = 1000


class RawFlavor(msgspec.Struct):
    """One flavor, as ``GET /flavors/{id}`` says it."""

    id: str
    name: str
    ram: int
    vcpus: int
    disk: int
    ephemeral: int = msgspec.field(name="OS-FLV-EXT-DATA:ephemeral", default=0)
    swap: int | str = 0
    """An empty text where there is none."""
    rxtx_factor: float = 1.0
    public: bool = msgspec.field(name="os-flavor-access:is_public", default=True)
    description: str | None = None
    extra_specs: dict[str, Text] = {}

    @property
    def properties(self) -> dict[str, str]:
        """Its extra specs, as texts."""
        return {name: text_of(value) for name, value in self.extra_specs.items()}


class _Shown(msgspec.Struct):
    flavor: RawFlavor


class _Access(msgspec.Struct):
    tenant_id: str


class _Accesses(msgspec.Struct):
    flavor_access: list[_Access] = []


class _Listed(msgspec.Struct):
    servers: list[msgspec.Raw] = []


def flavor(orders: Orders, flavor_id: str) -> FlavorState | None:
    """A flavor; None: there is none. Raises ActionError."""
    raw = _raw(orders, flavor_id)
    return None if raw is None else FlavorState(raw.id, plain(raw.name), raw.properties)


def copy_flavor(
    orders: Orders, flavor_id: str, copy_id: str, name: str, properties: Mapping[str, str | None]
) -> None:
    """Make it, or complete what an earlier call made. Raises ActionError."""
    source = _raw(orders, flavor_id)
    if source is None:
        raise ActionError(f"there is no flavor {flavor_id[:60]} any more")
    if _raw(orders, copy_id) is None:
        orders.send(
            "POST", "compute", "/flavors", {"flavor": _asked(source, copy_id, name)},
            microversion="2.55",
        )  # fmt: skip
    specs = {**source.properties, **properties}
    wanted = {key: value for key, value in specs.items() if value is not None}
    if wanted:
        path = f"/flavors/{quote(copy_id, safe='')}/os-extra_specs"
        orders.send("POST", "compute", path, {"extra_specs": wanted})
    if not source.public:
        _share(orders, flavor_id, copy_id)


def servers_with(orders: Orders, flavor_id: str) -> int:
    """How many servers have it, of all projects; at most a page of them. Raises ActionError."""
    query = (("flavor", flavor_id), ("all_tenants", "True"), ("limit", str(_MOST)))
    return len(_decoded(orders.get("compute", "/servers", query), _LISTED).servers)


def delete_flavor(orders: Orders, flavor_id: str) -> None:
    """Delete it; nothing where it is gone. Raises ActionError."""
    try:
        orders.send("DELETE", "compute", f"/flavors/{quote(flavor_id, safe='')}")
    except AnswerError as error:
        if error.status != _GONE:
            raise


def _asked(source: RawFlavor, copy_id: str, name: str) -> dict[str, object]:
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


def _swap(source: RawFlavor) -> int:
    try:
        return int(source.swap or 0)
    except ValueError:
        raise ActionError(f"what Nova answered of flavor {source.id[:60]} is none: swap") from None


def _share(orders: Orders, flavor_id: str, copy_id: str) -> None:
    """Let the same projects use it."""
    path = f"/flavors/{quote(flavor_id, safe='')}/os-flavor-access"
    for access in _decoded(orders.get("compute", path), _ACCESSES).flavor_access:
        body = {"addTenantAccess": {"tenant": access.tenant_id}}
        try:
            orders.send("POST", "compute", f"/flavors/{quote(copy_id, safe='')}/action", body)
        except AnswerError as error:
            if error.status != _THERE:
                raise


def _raw(orders: Orders, flavor_id: str) -> RawFlavor | None:
    path = f"/flavors/{quote(flavor_id, safe='')}"
    try:
        body = orders.get("compute", path, microversion=_WITH_SPECS)
    except AnswerError as error:
        if error.status == _GONE:
            return None
        raise
    return _decoded(body, _SHOWN).flavor


def _decoded(body: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    try:
        return decoder.decode(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise ActionError(f"what Nova answered of a flavor is none: {plain(str(error))}") from None


_SHOWN = json_decoder(_Shown)
_ACCESSES = json_decoder(_Accesses)
_LISTED = json_decoder(_Listed)
