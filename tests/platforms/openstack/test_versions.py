"""Which Nova it is, by its highest microversion."""

from tests.rows import rows_of_tuples
from vnicaudit.model.openstack import NovaVersions
from vnicaudit.platforms.openstack.listing import microversion_text, microversions, releases


@rows_of_tuples
def test_releases(highest: tuple[int, int], oldest: int | None, newest: int | None) -> None:
    assert releases(highest) == NovaVersions(microversion_text(highest), oldest, newest)


def test_a_nova_that_does_not_say() -> None:
    assert releases(None) == NovaVersions("")


@rows_of_tuples
def test_what_is_asked_with(
    highest: tuple[int, int] | None, servers: str, flavors: str, nodes: str
) -> None:
    found = microversions(highest)
    assert tuple(map(microversion_text, (found.servers, found.flavors, found.nodes))) == (
        servers, flavors, nodes,
    )  # fmt: skip
    assert found.stored_properties == (servers == "2.98")
