"""Servers and images of a real cloud: changed, taken back, and never left off."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.openstack.cloud import Cloud
from tests.openstack.remedy import Remedy, checks, kept
from tests.openstack.servers import ServerFactory

pytestmark = pytest.mark.openstack

Images = Callable[..., str]

_DIES = """\
#!/bin/sh
# nova-manage on a controller that goes away when something is to be set
[ "$2" = set ] && kill -KILL $$
exec nova-manage "$@"
"""


@pytest.fixture
def remedy(cloud: Cloud, tmp_path: Path) -> Remedy:
    """A fresh state folder."""
    return Remedy(cloud, tmp_path)


def test_there_and_back(remedy: Remedy, server: ServerFactory) -> None:
    one = server("legacy")
    assert one.model() == "rtl8139"
    plan = remedy.plan(one.id)

    said = remedy.apply(plan, "--libvirt-of-host", "qemu:///system")
    assert f"{one.name}: setting hw_vif_model=virtio" in said
    unit = remedy.last()
    assert (unit["outcome"], unit["kind"], unit["uuid"]) == ("applied", "server", one.id)
    found = checks(unit)
    assert {name: found[name] for name in ("server", "kept", "ports", "device", "traffic")} == (
        dict.fromkeys(("server", "kept", "ports", "device", "traffic"), "ok")
    )
    assert 1 < unit["downtime"] < 120
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
    one = server("legacy")
    plan = remedy.plan(one.id)
    cloud.api.compute.lock_server(one.id, locked_reason="its owner's")
    cloud.api.compute.pause_server(one.id)
    one.wait("PAUSED")
    said = remedy.apply(plan, code=5)
    assert "it is locked (its owner's): ask who did that" in said
    assert "it is PAUSED: it neither runs nor is off" in remedy.last()["message"]
    assert remedy.last()["outcome"] == "refused"
    assert one.record.status == "PAUSED"


def test_the_controller_dies_between_stop_and_set(
    remedy: Remedy, server: ServerFactory, tmp_path: Path
) -> None:
    one = server("legacy")
    command = tmp_path / "nova-manage"
    command.write_text(_DIES)
    command.chmod(0o755)
    remedy.apply(remedy.plan(one.id), "--nova-manage-command", str(command), code=5)
    unit = remedy.last()
    assert unit["outcome"] == "failed"
    assert unit["message"].endswith("nothing is changed")
    assert (one.record.status, one.model(), kept(one)) == ("ACTIVE", "rtl8139", "rtl8139")


def test_it_is_killed(remedy: Remedy, server: ServerFactory) -> None:
    """Where the server is off, or a property half set: the next command puts it right."""
    one = server("legacy")
    plan = remedy.plan(one.id)
    for event in ("stopping", "setting"):
        remedy.killed_at(plan, event)
        remedy.rollback()
        assert remedy.last()["outcome"] == "rolled-back"
        assert (one.record.status, one.model(), kept(one)) == ("ACTIVE", "rtl8139", "rtl8139")
    remedy.killed_at(plan, "starting")
    remedy.apply(plan)
    assert remedy.last()["outcome"] == "applied"
    assert (one.record.status, one.model(), kept(one)) == ("ACTIVE", "virtio", "virtio")
    assert "unfinished" not in {run["outcome"] for run in remedy.runs()}


def test_an_image(cloud: Cloud, remedy: Remedy, server: ServerFactory, image: Images) -> None:
    name = image(hw_vif_model="rtl8139")
    remedy.apply(remedy.plan(name))
    unit = remedy.last()
    assert (unit["outcome"], unit["kind"], unit["name"]) == ("applied", "image", name)
    assert server(name).model() == "virtio"
    remedy.rollback()
    assert cloud.api.image.find_image(name).hw_vif_model == "rtl8139"
