"""Servers and images of a real cloud: changed, taken back, and never left off."""

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.openstack.cloud import Cloud
from tests.openstack.remedy import Remedy, checks, kept, rules
from tests.openstack.servers import GuestNic, Server, ServerFactory

pytestmark = pytest.mark.openstack

Images = Callable[..., str]

MULTIQUEUE = "hw_vif_multiqueue_enabled"

_DIES = """\
#!/bin/sh
# nova-manage on a controller that goes away when something is to be set
[ "$2" = set ] && kill -KILL $$
exec nova-manage "$@"
"""


Cases = Mapping[str, "Future[None]"]


@pytest.fixture(scope="module")
def cases(cloud: Cloud, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cases]:
    """A minute and more goes by in each until a nova-manage whose end was not seen cannot come late
    any more, with the server up again: they are under way while the other tests run."""
    factory = ServerFactory(cloud)
    works = {"controller": _controller_dies, "setting": _killed_while_it_sets}
    with ThreadPoolExecutor(len(works)) as pool:
        yield {
            name: pool.submit(work, Remedy(cloud, tmp_path_factory.mktemp(name)), factory("still"))
            for name, work in works.items()
        }
    factory.remove()


@pytest.fixture(autouse=True)
def under_way(cases: Cases) -> None:
    """From the first test on."""


@pytest.fixture
def remedy(cloud: Cloud, tmp_path: Path) -> Remedy:
    """A fresh state folder."""
    return Remedy(cloud, tmp_path)


def test_there_and_back(remedy: Remedy, server: ServerFactory) -> None:
    one = server("legacy")
    assert one.model() == "rtl8139"
    plan = remedy.plan(one.id)
    one.nics()  # up: it has sent packets, as it must again

    began = time.monotonic()
    said = remedy.apply(plan, "VNICAUDIT_LIBVIRT_OF_HOST=qemu:///system")
    took = time.monotonic() - began
    assert f"{one.name}: setting hw_vif_model=virtio" in said
    unit = remedy.last()
    assert (unit["outcome"], unit["kind"], unit["uuid"]) == ("applied", "server", one.id)
    found = checks(unit)
    assert {name: found[name] for name in ("server", "kept", "ports", "device", "traffic")} == (
        dict.fromkeys(("server", "kept", "ports", "device", "traffic"), "ok")
    )
    assert 1 < unit["downtime"] < took
    assert (one.model(), kept(one)) == ("virtio", "virtio")
    assert [nic.driver for nic in one.nics()] == ["virtio_net"]

    remedy.rollback()
    found = checks(remedy.last())
    assert (found["kept"], found["device"], found["traffic"]) == ("ok", "unknown", "ok")
    assert (one.model(), kept(one)) == ("rtl8139", "rtl8139")
    assert [nic.driver for nic in one.nics()] == ["8139cp"]


def test_a_server_in_the_wrong_state_is_refused(
    cloud: Cloud, remedy: Remedy, server: ServerFactory
) -> None:
    one = server("still")
    plan = remedy.plan(one.id)
    cloud.api.compute.lock_server(one.id, locked_reason="its owner's")
    cloud.api.compute.pause_server(one.id)
    one.wait("PAUSED")
    said = remedy.apply(plan, code=5)
    assert "it is locked (its owner's): ask who locked it" in said
    assert "it is PAUSED, neither running nor off" in remedy.last()["message"]
    assert remedy.last()["outcome"] == "refused"
    assert one.record.status == "PAUSED"


def test_it_is_killed(remedy: Remedy, server: ServerFactory) -> None:
    """Where the server is off: the next command puts it right."""
    one = server("legacy")
    plan = remedy.plan(one.id)
    remedy.killed_at(plan, "stopping")
    remedy.rollback()
    assert remedy.last()["outcome"] == "rolled-back"
    assert (one.record.status, one.model(), kept(one)) == ("ACTIVE", "rtl8139", "rtl8139")
    remedy.killed_at(plan, "starting")
    remedy.apply(plan)
    assert remedy.last()["outcome"] == "applied"
    assert (one.record.status, one.model(), kept(one)) == ("ACTIVE", "virtio", "virtio")
    assert "unfinished" not in {run["outcome"] for run in remedy.runs()}


def test_the_model_of_os_distro_and_queues_there_and_back(
    remedy: Remedy, server: ServerFactory, image: Images
) -> None:
    """Two plans on one server, the second by the policy; both are taken back, the newer first."""
    one = server(image(os_distro="ubuntu22.04"), "m2")
    address = one.nics()[0].mac
    emulated, single, double = (
        [GuestNic(address, driver, queues)]
        for driver, queues in (("e1000e", 1), ("virtio_net", 1), ("virtio_net", 2))
    )
    assert (one.model(), one.nics()) == ("e1000e", emulated)

    plan = remedy.plan(one.id)
    assert rules(plan) == ["VNIC003"]
    said = remedy.apply(plan)
    first = remedy.last_run()
    assert f"{one.name}: setting hw_vif_model=virtio" in said
    assert (one.model(), kept(one), one.nics()) == ("virtio", "virtio", single)

    plan = remedy.plan(one.id, '[policy]\nqueues = "auto"\n')
    assert rules(plan) == ["policy"]
    said = remedy.apply(plan, "VNICAUDIT_LIBVIRT_OF_HOST=qemu:///system")
    assert f"{one.name}: setting {MULTIQUEUE}=true" in said
    assert checks(remedy.last())["queues"] == "ok"
    assert (one.driver()["queues"], kept(one, MULTIQUEUE), one.nics()) == ("2", "true", double)

    remedy.rollback()
    # nova-manage cannot unset it
    assert (one.driver().get("queues"), kept(one, MULTIQUEUE)) == (None, "false")
    assert one.nics() == single

    remedy.rollback(run=first)
    assert (one.model(), kept(one), one.nics()) == ("e1000e", "e1000e", emulated)


def test_an_image(cloud: Cloud, remedy: Remedy, server: ServerFactory, image: Images) -> None:
    name = image(boots=False, hw_vif_model="rtl8139")
    remedy.apply(remedy.plan(name))
    unit = remedy.last()
    assert (unit["outcome"], unit["kind"], unit["name"]) == ("applied", "image", name)
    assert server(name).model() == "virtio"
    remedy.rollback()
    assert cloud.api.image.find_image(name).hw_vif_model == "rtl8139"


def test_the_controller_dies_between_stop_and_set(cases: Cases) -> None:
    cases["controller"].result()


def test_it_is_killed_while_it_sets(cases: Cases) -> None:
    cases["setting"].result()


def _controller_dies(remedy: Remedy, one: Server) -> None:
    command = remedy.folder / "nova-manage"
    command.write_text(_DIES)
    command.chmod(0o755)
    remedy.apply(remedy.plan(one.id), f"VNICAUDIT_NOVA_MANAGE_COMMAND={command}", code=5)
    unit = remedy.last()
    assert unit["outcome"] == "failed"
    assert "; nothing was changed" in unit["message"]
    assert (one.record.status, one.model(), kept(one)) == ("ACTIVE", "rtl8139", "rtl8139")


def _killed_while_it_sets(remedy: Remedy, one: Server) -> None:
    """The property may be half set; the next command puts it right."""
    remedy.killed_at(remedy.plan(one.id), "setting")
    remedy.rollback()
    assert remedy.last()["outcome"] == "rolled-back"
    assert (one.record.status, one.model(), kept(one)) == ("ACTIVE", "rtl8139", "rtl8139")
