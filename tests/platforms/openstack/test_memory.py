"""How much is kept of a cloud with many servers."""

import gc
import tracemalloc
from collections.abc import Iterator

import pytest

from tests.platforms.openstack.cloud import Asked, FakeCloud, Item, Reply, load, reply
from tests.platforms.openstack.entering import read
from vnicaudit.model.domain import Server
from vnicaudit.model.fleet import CloudItem as ReadItem

SERVERS, PORTS = "/compute/v2.1/servers/detail", "/network/v2.0/ports"
FEW, MANY = 600, 2_600
PORT = 1_300
"""Bytes for each server that is still to come: its port takes half of that, and the rest is for a
page that is read ahead in one reading and not in the other. A server takes 1,100 more."""


def identity(number: int) -> str:
    return f"{number:08x}-1111-2222-3333-444444444444"


def mac(number: int) -> str:
    return f"fa:16:3e:{number >> 16:02x}:{number >> 8 & 255:02x}:{number & 255:02x}"


class Many:
    """A cloud that makes each page when it is asked for it, and keeps none: servers as Nova 34
    described one, with names and addresses of their own, and where wanted their ports."""

    def __init__(self, servers: int, *, ports: bool) -> None:
        [self._server] = [each for each in load("admin/servers-2.98") if each["name"] == "old"]
        [self._port] = [
            each for each in load("admin/ports") if each["device_id"] == self._server["id"]
        ]
        self._servers, self._ports = servers, ports

    def __call__(self, asked: Asked) -> Reply | None:
        """An intercept."""
        if asked.path == SERVERS:
            return self._page(asked, "servers", self._servers)
        if asked.path == PORTS:
            return self._page(asked, "ports", self._servers if self._ports else 0)
        return None

    def _page(self, asked: Asked, key: str, count: int) -> Reply:
        limit, marker = int(asked.query["limit"]), asked.query.get("marker")
        begin = 0 if marker is None else 1 + int(marker[:8], 16)
        end = min(begin + limit, count)
        made = self._a_server if key == "servers" else self._a_port
        body: Item = {key: [made(number) for number in range(begin, end)]}
        if end < count:
            body[f"{key}_links"] = [{"rel": "next", "href": f"/?marker={identity(end - 1)}"}]
        return reply(200, body)

    def _a_server(self, number: int) -> Item:
        address = {"OS-EXT-IPS-MAC:mac_addr": mac(number), "addr": "10.9.0.1", "version": 4}
        return {
            **self._server,
            "id": identity(number),
            "name": f"server {number}",
            "addresses": {"net": [address]},
        }

    def _a_port(self, number: int) -> Item:
        own = {"id": identity(number), "device_id": identity(number), "mac_address": mac(number)}
        return {**self._port, **own}


def walked(items: Iterator[ReadItem]) -> int:
    """How many servers came; none is kept."""
    return sum(isinstance(item, Server) for item in items)


def kept(items: Iterator[ReadItem]) -> int:
    """The same, all of them kept until the last has come."""
    return sum(isinstance(item, Server) for item in list(items))


def peak(cloud: FakeCloud, count: int, *, ports: bool = False, all_kept: bool = False) -> int:
    """Bytes in use at most, in both halves, while a cloud with so many servers is read."""
    cloud.intercept, cloud.asked = Many(count, ports=ports), []
    gc.collect()
    tracemalloc.start()
    try:
        came = (kept if all_kept else walked)(read("admin", deadline=120).items)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert came == count
    return most


@pytest.fixture
def warm(cloud: FakeCloud) -> FakeCloud:
    """A cloud that was read once: what is loaded with the first reading is there."""
    peak(cloud, 200)
    return cloud


def test_five_times_the_servers_need_no_more_memory(warm: FakeCloud) -> None:
    # A page less or more may be read ahead, which takes less than half of what all would.
    page_by_page = peak(warm, MANY) - peak(warm, FEW)
    in_whole = peak(warm, MANY, all_kept=True) - peak(warm, FEW, all_kept=True)
    assert page_by_page < in_whole / 2


def test_of_a_server_only_its_port_is_kept_before_it_comes(warm: FakeCloud) -> None:
    more = peak(warm, MANY, ports=True) - peak(warm, FEW, ports=True)
    assert more / (MANY - FEW) < PORT
