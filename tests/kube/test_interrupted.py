"""The API server refuses, or is gone, in the midst of a change: a run tells it, and goes on from
there."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.kube.between import GATEWAY, Between, between
from tests.kube.changing import VM, Changing, changing
from tests.kube.objects import interface, virtual_machine
from tests.kube.server import Server
from tests.kube.virt import VMS, Virt
from tests.platforms.kubevirt.live.api_server import Asked, Reply, kubeconfig
from tests.remedy.applying.cluster_world import MODEL
from vnicaudit.model.plan import Mode
from vnicaudit.platforms.kubevirt.live import client

pytestmark = pytest.mark.kube
Pauses = list[Callable[[], object]]


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> Pauses:
    """What happens in each pause before a request is repeated; nobody waits."""
    happens: Pauses = []
    monkeypatch.setattr(client, "sleep", lambda _seconds: happens and happens.pop(0)())
    return happens


@pytest.fixture
def dead() -> Iterator[list[Server]]:
    """Servers that were killed, until the end of a test at most."""
    servers: list[Server] = []
    yield servers
    for server in servers:
        server.begin_again()


@pytest.fixture
def way(cluster: Server) -> Iterator[Between]:
    with between(cluster) as server:
        yield server


@pytest.fixture
def world(cluster: Server, virt: Virt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Changing:
    return changing(tmp_path, cluster, virt, monkeypatch)


@pytest.fixture
def behind(world: Changing, way: Between, monkeypatch: pytest.MonkeyPatch) -> Changing:
    """The program reaches the server by a way that may change what is said."""
    user = {"token": "admin-token"}
    file = kubeconfig(world.folder.parent / "config", way.url, "admin", user=user)
    monkeypatch.setenv("KUBECONFIG", str(file))
    return world


def is_patch(asked: Asked) -> bool:
    return asked.method == "PATCH" and "dryRun" not in asked.query


def is_restart(asked: Asked) -> bool:
    """A dry run of it included."""
    return asked.method == "PUT"


def test_what_is_refused_as_invalid_is_not_begun(
    guarded: Server, virt: Virt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """422, by a rule of admission, to the dry run."""
    subject = VM._replace(
        load=lambda: virtual_machine("web", interface(model="e1000"), namespace="guarded"),
        path=VMS.format("guarded", "web"), lines=(replace(MODEL, after="vmxnet3"),),
    )  # fmt: skip
    world = changing(tmp_path, guarded, virt, monkeypatch, subject)
    unit = world.applied("restart")
    assert (unit.outcome, unit.codes) == ("refused", ("cluster",))
    assert "uses model vmxnet3 that is not supported" in unit.message
    assert not world.is_changed()


def test_a_token_that_expires_in_between(behind: Changing, way: Between) -> None:
    """401, to the patch: the run stops there, and goes on with another token."""
    way.happens = lambda asked: asked._replace(token="expired") if is_patch(asked) else asked
    unit = behind.applied("restart")
    assert unit.outcome == "unfinished"
    assert "unfinished: " in behind.told[-1][1]
    assert "401" in behind.told[-1][1]
    assert not behind.is_changed()
    way.happens = lambda asked: asked
    assert behind.applied("restart").outcome == "applied"
    assert (behind.runs_with(), behind.virt.asked) == ("virtio", ["shop/web"])


@pytest.mark.parametrize("which", [is_patch, is_restart])
def test_a_server_that_has_too_much_to_do(
    behind: Changing, way: Between, pauses: Pauses, which: Callable[[Asked], bool]
) -> None:
    """429: it is asked again after the pause that it wants, and does it once."""
    busy = [Reply(429, b"Too many requests, please try again later.\n", (("Retry-After", "3"),))]
    way.intercept = lambda asked: busy.pop() if which(asked) and busy else None
    pauses.append(lambda: None)
    assert behind.applied("restart").outcome == "applied"
    assert (busy, pauses) == ([], [])
    assert (behind.runs_with(), behind.virt.asked) == ("virtio", ["shop/web"])


@pytest.mark.usefixtures("pauses")
def test_a_restart_is_not_asked_for_twice_because_its_answer_was_lost(
    behind: Changing, way: Between
) -> None:
    """A gateway tells of an error after the request was taken, and the new instance is there."""
    behind.virt.is_prompt = True
    lost = [GATEWAY]
    way.answered = lambda _asked, reply: lost.pop() if behind.virt.asked and lost else reply
    first = behind.applied("restart")
    behind.virt.settle()
    assert first.outcome == "applied" or behind.applied("restart").outcome == "applied"
    assert (behind.runs_with(), behind.virt.asked) == ("virtio", ["shop/web"])


@pytest.mark.parametrize(
    ("mode", "which"),
    [
        ("next-boot", is_patch),
        pytest.param("restart", is_patch, marks=pytest.mark.long),
        pytest.param("restart", is_restart, marks=pytest.mark.long),
    ],
)
@pytest.mark.usefixtures("pauses")
def test_a_server_that_is_killed_after_it_did_what_was_asked(
    behind: Changing,
    way: Between,
    dead: list[Server],
    mode: Mode,
    which: Callable[[Asked], bool],
) -> None:
    """The program does not know that; the journal has no line of it."""

    def answered(asked: Asked, reply: Reply) -> Reply:
        if not dead and which(asked) and (which is is_patch or behind.virt.asked):
            dead.append(behind.cluster)
            behind.cluster.end()
            return GATEWAY
        return reply

    way.answered = answered
    unit = behind.applied(mode)
    assert unit.outcome == "unfinished", unit.message
    dead.pop().begin_again()
    if mode == "restart":
        behind.virt.wait()
    way.answered = lambda _asked, reply: reply
    assert behind.is_changed()
    way.asked.clear()
    assert behind.applied(mode).outcome == "applied"
    assert not any(map(is_patch, way.asked))
    assert behind.runs_with() == ("virtio" if mode == "restart" else "e1000")
    assert behind.rolled_back(mode).outcome == "applied"
    assert not behind.is_changed()
