"""What is known of a guest: architecture, readiness, memory."""

from typing import Any

import pytest

from tests.platforms.openstack.servers import HOST, around, declared, domain, port, raw
from tests.rows import rows
from vnicaudit.model.host import Version
from vnicaudit.platforms.openstack.lists import HypervisorNodes, NodeCpu, RawNode, Service

DISK = {"hw_disk_bus": "virtio"}


def nodes(**said: Any) -> HypervisorNodes:
    """One hypervisor: that of :data:`HOST`."""
    found = HypervisorNodes()
    node = {"name": "node1", "kind": "QEMU", "version": 8_002_002, "service": Service("cmp1")}
    found.add(RawNode(**{**node, **said}))
    return found


@rows
def test_readiness(kept: dict[str, str], readiness: str) -> None:
    assert declared(raw(kept)).readiness == readiness


@pytest.mark.parametrize("kept", [{"hw_vif_model": "virtio"}, {**DISK, "os_type": "linux"}])
def test_what_never_ran_has_shown_nothing(kept: dict[str, str]) -> None:
    server = raw(kept, **{"OS-SRV-USG:launched_at": None})
    assert declared(server).readiness == "unknown"


@rows
def test_architecture(kept: dict[str, str], arch: str | None) -> None:
    assert declared(raw(kept)).arch == arch


def test_architecture_of_the_node() -> None:
    s390 = around(port(), nodes=nodes(cpu_info=NodeCpu("s390x")))
    assert declared(raw({}, **HOST), s390).arch == "s390x"
    assert declared(raw({"hw_architecture": "x86_64"}, **HOST), s390).arch == "x86_64"
    assert declared(raw({}), s390).arch is None  # a tenant's server: on which node is not said
    old = around(port(), nodes=nodes(cpu_info='{"arch": "s390x"}'))
    assert declared(raw({}, **HOST), old).arch is None


@pytest.mark.parametrize(
    ("number", "version"),
    [(8_002_002, Version(8, 2, 2)), (0, None), (-1, None), (None, None)],
)
def test_version_of_qemu(number: int | None, version: Version | None) -> None:
    found = domain(raw({}, **HOST), around(port(), nodes=nodes(version=number)))
    assert found.qemu_version == version


@pytest.mark.parametrize(
    ("size", "shared"),
    [
        ("large", True), ("2048", True), ("2MB", True), ("1GB", True), ("1 GiB", True),
        ("small", None), ("any", None), ("4", None), ("64KB", None), ("", None), ("9" * 30, None),
    ],
)  # fmt: skip
def test_memory_that_is_shared(size: str, shared: bool | None) -> None:
    assert declared(raw({}, specs={"hw:mem_page_size": size})).shared_memory is shared
    assert declared(raw({"hw_mem_page_size": size})).shared_memory is shared


def test_memory_that_is_encrypted() -> None:
    assert declared(raw({"hw_mem_encryption": "True"})).encrypted
    assert declared(raw({}, specs={"hw:mem_encryption": "yes"})).encrypted
    assert not declared(raw({"hw_mem_encryption": "false"})).encrypted


def test_its_system_by_libosinfos_id() -> None:
    assert declared(raw({"os_distro": "http://e.org/a/1"})).os_id == "http://e.org/a/1"
    assert declared(raw({"os_distro": "ubuntu22.04"})).os_id is None
