"""How much is kept of a cloud with many servers."""

from __future__ import annotations

import gc
import json
import tracemalloc

import msgspec

from tests.platforms.openstack.cloud import load
from tests.platforms.openstack.servers import around, image
from vnicaudit.model.domain import Domain
from vnicaudit.platforms.openstack.domains import domain_of
from vnicaudit.platforms.openstack.pages import Listing, decoded, split
from vnicaudit.platforms.openstack.ports import Ports, RawPort
from vnicaudit.platforms.openstack.servers import DECODER

PAGE = 200
LISTING = Listing("compute", "/servers/detail", "servers", PAGE)
FEW, MANY = 1_000, 10_000
KIB = 1024


def identity(number: int) -> str:
    return f"{number:08x}-1111-2222-3333-444444444444"


def page(begin: int) -> bytes:
    """Servers as Nova 34 described one, with names and addresses of their own."""
    [server] = [each for each in load("admin/servers-2.98") if each["name"] == "old"]
    return json.dumps({
        "servers": [
            {**server, "id": identity(number), "name": f"server {number}"}
            for number in range(begin, begin + PAGE)
        ]
    }).encode()  # fmt: skip


def peak(count: int) -> int:
    """Bytes in use at most while so many servers pass, their pages made one by one."""
    near = around(image=image())
    gc.collect()
    tracemalloc.start()
    passed = 0
    for begin in range(0, count, PAGE):
        raws, _marker = split(page(begin), LISTING, "openstack:c")
        for raw in decoded(raws, LISTING, DECODER, "openstack:c").items:
            passed += isinstance(domain_of(raw, near), Domain)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert passed == count
    return most


def test_ten_times_the_servers_need_no_more_memory() -> None:
    peak(PAGE)
    assert peak(MANY) - peak(FEW) < 256 * KIB


def test_a_port_that_waits_for_its_server_is_small() -> None:
    [raw] = [each for each in load("admin/ports") if each["device_id"].startswith("89ec0f0b")]
    decoder = msgspec.json.Decoder(RawPort)
    ports = Ports()
    ports.add(decoder.decode(json.dumps(raw)))
    gc.collect()
    tracemalloc.start()
    for number in range(MANY):
        own = {
            "id": f"p{number:035}",
            "device_id": identity(number),
            "mac_address": f"m{number:16}",
        }
        ports.add(decoder.decode(json.dumps({**raw, **own})))
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert used / MANY < 600
    for number in range(MANY):
        assert len(ports.take(identity(number))) == 1
    assert ports.take(identity(0)) == []
