"""Pages: what they are cut into, where they lead, and those that are damaged."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.platforms.openstack.cloud import Asked, FakeCloud, Reply, load, reply
from tests.platforms.openstack.entering import connect
from tests.rows import rows
from vnicaudit.errors import TargetError
from vnicaudit.platforms.openstack.client import Client
from vnicaudit.platforms.openstack.listing import Listing, decoded, pages, split
from vnicaudit.platforms.openstack.network import RawPort

DECODER = msgspec.json.Decoder(RawPort)
PORTS = Listing("network", "/ports", "ports", DECODER, 2, (("fields", "id"),))
GROUPS = Listing("compute", "/os-server-groups", "server_groups", DECODER, 2, by_offset=True)
LINK = "http://n/v2.0/ports?limit=2&marker={}"
MARKS = {"ports": ["x"], "ports_links": [{"rel": "next", "href": LINK.format("m")}]}


def cut(page: object) -> tuple[list[msgspec.Raw], str | None]:
    return split(json.dumps(page).encode(), PORTS, "openstack:c")


def damage(data: bytes) -> str:
    with pytest.raises(TargetError) as caught:
        split(data, PORTS, "openstack:c")
    begin = "network: GET /ports: the answer is not a page of ports: "
    assert caught.value.message.startswith(begin)
    return caught.value.message.removeprefix(begin)


def test_the_last_page_leads_nowhere() -> None:
    items, marker = cut({"ports": [{"id": "a"}, {"id": "b"}]})
    assert [bytes(item) for item in items] == [b'{"id": "a"}', b'{"id": "b"}']
    assert marker is None
    previous = [{"rel": "previous", "href": LINK.format("a")}]
    assert cut({"ports": [], "ports_links": previous}) == ([], None)


def test_the_marker_is_taken_and_not_the_url() -> None:
    assert cut(MARKS)[1] == "m"
    assert cut({"ports": [], "next": "/v2/images?limit=5&marker=n%20n"})[1] == "n n"
    assert cut({"ports": [], "next": None})[1] is None


@rows
def test_what_is_no_page(page: object, reason: str) -> None:
    assert damage(json.dumps(page).encode()).startswith(reason)


def test_nesting_that_has_no_end() -> None:
    assert damage(b'{"ports": ' + b"[" * 100_000) != ""
    assert damage(b"[" * 100_000) != ""


@pytest.mark.parametrize("name", ["admin/ports", "admin/servers-2.98", "admin/images"])
def test_a_page_that_is_cut_off_anywhere_is_no_page(name: str) -> None:
    whole = json.dumps({**MARKS, "ports": load(name)[:2]}).encode()
    assert len(split(whole, PORTS, "openstack:c")[0]) == 2
    for length in range(len(whole)):
        assert damage(whole[:length])


@given(st.binary(max_size=200))
def test_anything_else_is_no_page(data: bytes) -> None:
    try:
        items, _marker = split(data, PORTS, "openstack:c")
    except TargetError:
        return
    assert json.loads(data)["ports"] == [json.loads(bytes(item)) for item in items]


def test_an_item_that_is_none_of_its_kind_is_an_error_of_its_own() -> None:
    texts = ('{"id": "a"}', '{"id": 7}', '{"id": "b", "mac_address": []}', "7", "[" * 50_000)
    raws = [msgspec.Raw(text.encode()) for text in texts]
    page = decoded(raws, PORTS, "openstack:c")
    assert [port.id for port in page.items] == ["a"]
    assert [error.message.split(":")[1] for error in page.errors] == [
        " one without an id cannot be understood",
        " b cannot be understood",
        " one without an id cannot be understood",
        " one without an id cannot be understood",
    ]
    assert {error.file for error in page.errors} == {"openstack:c"}


def read(cloud: FakeCloud, count: int, limit: int) -> tuple[list[str], int]:
    """Ids of ports, and how many requests they took."""
    cloud.admin.ports = [{"id": str(number)} for number in range(count)]
    client = Client(connect("admin", deadline=30))
    found = [port.id for page in pages(client, replace(PORTS, limit=limit))
             for port in page.items]  # fmt: skip
    return found, cloud.paths().count("/network/v2.0/ports")


def test_every_page_is_read(cloud: FakeCloud) -> None:
    assert read(cloud, 5, 2) == (["0", "1", "2", "3", "4"], 3)


def test_a_full_last_page_is_followed_by_an_empty_one(cloud: FakeCloud) -> None:
    assert read(cloud, 4, 2) == (["0", "1", "2", "3"], 3)


def test_a_service_may_give_less_than_is_asked_for(
    cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.platforms.openstack.cloud.MAX_LIMIT", 2)
    assert read(cloud, 5, 1000) == (["0", "1", "2", "3", "4"], 3)


def test_pages_that_go_round_in_a_circle(cloud: FakeCloud) -> None:
    def intercept(asked: Asked) -> Reply | None:
        if not asked.path.endswith("/ports"):
            return None
        following = "b" if asked.query.get("marker") == "a" else "a"
        link = {"rel": "next", "href": LINK.format(following)}
        return reply(200, {"ports": [{"id": "p"}], "ports_links": [link]})

    cloud.intercept = intercept
    walk = pages(Client(connect("admin", deadline=30)), PORTS)
    found = [next(walk).items for _page in ("the first", "after a", "after b")]
    with pytest.raises(TargetError) as caught:
        next(walk)
    assert caught.value.message == (
        "network: GET /ports: its pages never end: the page after a comes twice"
    )
    assert [len(items) for items in found] == [1, 1, 1]


def test_pages_by_offset(cloud: FakeCloud) -> None:
    cloud.admin.groups = [{"id": str(number)} for number in range(5)]
    client = Client(connect("admin", deadline=30))
    client.endpoint("compute")
    got = [[port.id for port in page.items] for page in pages(client, GROUPS)]
    assert got == [["0", "1"], ["2", "3"], ["4"]]


def test_an_offset_that_is_not_heeded(cloud: FakeCloud) -> None:
    def intercept(asked: Asked) -> Reply | None:
        groups = reply(200, {"server_groups": [{"id": "g"}]})
        return groups if asked.path.endswith("groups") else None

    cloud.intercept = intercept
    client = Client(connect("admin", deadline=30))
    client.endpoint("compute")
    with pytest.raises(TargetError, match="its pages never end: the page at 1 comes twice"):
        list(pages(client, GROUPS))
