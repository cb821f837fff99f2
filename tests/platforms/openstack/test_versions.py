"""Which Nova it is, by its highest microversion."""

from __future__ import annotations

import pytest

from vnicaudit.model.server import NovaVersions
from vnicaudit.platforms.openstack.versions import microversion_text, microversions, releases


@pytest.mark.parametrize(
    ("highest", "oldest", "newest"),
    [
        ((2, 104), 34, 34),
        ((2, 103), 33, 33),
        ((2, 100), 31, 32),
        ((2, 96), 29, 30),
        ((2, 95), 27, 28),
        ((2, 93), 26, 26),
        ((2, 90), 24, 25),
        ((2, 88), 23, 23),
        ((2, 87), 21, 22),
        ((2, 60), 17, 17),
        ((2, 3), None, 11),
        ((2, 1), None, 11),
        # of a snapshot on the way to a release
        ((2, 98), 31, 31),
        ((2, 94), 27, 27),
        # newer than all that are known
        ((2, 105), 34, None),
        ((3, 0), 34, None),
    ],
)
def test_releases(highest: tuple[int, int], oldest: int | None, newest: int | None) -> None:
    assert releases(highest) == NovaVersions(microversion_text(highest), oldest, newest)


def test_a_nova_that_does_not_say() -> None:
    assert releases(None) == NovaVersions("")


@pytest.mark.parametrize(
    ("highest", "servers", "flavors", "nodes"),
    [
        ((2, 104), "2.98", "2.61", "2.87"),
        ((2, 98), "2.98", "2.61", "2.87"),
        ((2, 97), "2.69", "2.61", "2.87"),
        ((2, 68), "2.47", "2.61", "2.68"),
        ((2, 60), "2.47", "2.60", "2.60"),
        ((2, 38), "2.38", "2.38", "2.38"),
        (None, "2.1", "2.1", "2.1"),
    ],
)
def test_what_is_asked_with(
    highest: tuple[int, int] | None, servers: str, flavors: str, nodes: str
) -> None:
    found = microversions(highest)
    assert tuple(map(microversion_text, (found.servers, found.flavors, found.nodes))) == (
        servers, flavors, nodes,
    )  # fmt: skip
    assert found.stored_properties == (servers == "2.98")
    assert found.paged_nodes == (nodes != "2.1")
