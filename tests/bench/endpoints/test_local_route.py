"""Paths that would take no NIC are refused before anything is measured."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.bench.running.fakes import profile
from tests.bench.two_links import TwoLinks, two_links
from tests.cli.command import vnicaudit
from vnicaudit.bench.endpoints.addresses import refuse_local_route
from vnicaudit.bench.endpoints.opening import PathOption
from vnicaudit.bench.running.opening import OpenedEndpoints
from vnicaudit.cli.wiring.adapters import adapters
from vnicaudit.errors import UsageError


@pytest.fixture(scope="module")
def links() -> Iterator[TwoLinks]:
    with two_links() as made:
        yield made


def test_a_path_between_two_namespaces(links: TwoLinks) -> None:
    refuse_local_route(links.target, links.peer, "192.0.2.1", one_kernel=True)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_loopback_that_is_asked_for(links: TwoLinks, address: str) -> None:
    refuse_local_route(links.target, links.target, address, one_kernel=True)


def test_an_address_of_the_peer(links: TwoLinks) -> None:
    with pytest.raises(UsageError) as error:
        refuse_local_route(links.target, links.peer, "192.0.2.2", one_kernel=True)
    assert str(error.value).startswith(
        f"{links.peer.url}: 192.0.2.2 is an address of this end itself (its route is local)"
    )


def test_both_ends_are_one(links: TwoLinks) -> None:
    """Also where the address is another machine's."""
    url = links.target.url
    for address in ("192.0.2.1", "192.0.2.2"):
        path = PathOption("a", f"{url}?address={address}", url)
        with ExitStack() as stack, pytest.raises(UsageError, match="in the same network namespace"):
            OpenedEndpoints(stack, adapters).open(path, profile())


def test_nothing_is_measured(links: TwoLinks, tmp_path_factory: pytest.TempPathFactory) -> None:
    state = tmp_path_factory.mktemp("state")
    path = f"{links.target.url}?address=192.0.2.1,{links.target.url}"
    done = vnicaudit("bench", "run", path, "-p", "smoke", "--state", state)
    assert (done.returncode, done.stdout) == (2, "")
    assert "in the same network namespace" in done.stderr
    assert list(state.iterdir()) == []
