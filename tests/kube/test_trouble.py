"""A token may cease to be valid in the middle of a list, and a server may cease to answer."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.inside import inside
from tests.kube.between import between
from tests.kube.objects import interface, kubevirt, virtual_machine
from tests.kube.server import Server
from tests.kube.test_logins import plugin
from tests.kube.test_rights import RULES
from tests.platforms.kubevirt.live.api_server import Asked, FakeServer, kubeconfig
from vnicaudit.platforms.kubevirt.live import lists

pytestmark = pytest.mark.kube
NAMES = ("a", "b", "c", "d", "e")


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of three pages needs no thousand objects."""
    monkeypatch.setattr(lists, "_LIMITS", (2,))


@contextmanager
def passed_on(cluster: Server, happens: Callable[[Asked], Asked]) -> Iterator[FakeServer]:
    """The real server behind another: what is asked of it may be changed on the way."""
    with between(cluster) as server:
        server.happens = happens
        yield server


def page_of_vms(asked: Asked, number: int) -> bool:
    """The first page of virtual machines, or a later one."""
    return asked.path.endswith("/virtualmachines") and ("continue" in asked.query) == (number > 1)


def judged(told: str) -> list[str]:
    """The VMs about which something is said."""
    return [name for name in NAMES if f"shop/{name}  kubevirt" in told]


def load(cluster: Server) -> None:
    machines = (virtual_machine(name, interface(model="e1000")) for name in NAMES)
    cluster.load(kubevirt(), *machines)


@pytest.mark.usefixtures("small_pages")
def test_a_token_that_expires_in_mid_list_is_fetched_again(cluster: Server, tmp_path: Path) -> None:
    load(cluster)
    user = plugin(tmp_path, token="a-token-that-has-expired")
    token = cluster.account("renewed", RULES)

    def expire(asked: Asked) -> Asked:
        if page_of_vms(asked, 2):
            plugin(tmp_path, token=token)
            return asked
        return asked._replace(token=token)

    with passed_on(cluster, expire) as server:
        file = kubeconfig(tmp_path / "config", server.url, user=user)
        result = inside("audit", f"kube:prod?kubeconfig={file}")
    assert judged(result.stdout) == [*NAMES]
    assert "not judged" not in result.stdout.lower()


@pytest.mark.usefixtures("small_pages")
def test_a_token_that_is_revoked_in_mid_list_ends_it_with_an_error(
    cluster: Server, tmp_path: Path
) -> None:
    load(cluster)
    token = cluster.account("revoked", RULES)

    def revoke(asked: Asked) -> Asked:
        return asked._replace(token="revoked") if page_of_vms(asked, 2) else asked

    with passed_on(cluster, revoke) as server:
        file = kubeconfig(tmp_path / "config", server.url, user={"token": token})
        result = inside("audit", f"kube:prod?kubeconfig={file}")
    told = " ".join((result.stdout + result.stderr).split())
    assert result.returncode == 4 or "virtualmachines.kubevirt.io: 401" in told
    assert result.returncode not in (0, 1)
    assert token not in told


@pytest.mark.usefixtures("small_pages")
def test_a_server_that_stops_to_answer_is_not_waited_for(cluster: Server, tmp_path: Path) -> None:
    load(cluster)
    over = threading.Event()

    def stop(asked: Asked) -> Asked:
        if page_of_vms(asked, 2):
            over.wait()
        return asked

    with passed_on(cluster, stop) as server:
        token = cluster.account("patient", RULES)
        file = kubeconfig(tmp_path / "config", server.url, user={"token": token})
        result = inside("audit", f"kube:prod?kubeconfig={file}", "VNICAUDIT_DEADLINE=1")
        over.set()
    assert result.returncode not in (0, 1)
    assert "within 1 s" in " ".join((result.stdout + result.stderr).split())
