"""Is the packet path in the kernel? Type, driver, domain type and host decide together."""

from itertools import product

import pytest
from msgspec.structs import replace

from tests.rows import rows
from vnicaudit.audit.effective.resolve import resolve, wants_vhost_net
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.finding import DESCRIPTORS
from vnicaudit.model.host import HostConfig
from vnicaudit.model.nic import KNOWN, NONE, UNKNOWN, NicConfig, Resolved, RunningNic

UNPROVEN = "the definition does not prove it; QEMU's command line or its open descriptors would"
HAS = "the host has /dev/vhost-net; libvirt uses it for KVM"
HAS_NOT = "the host has no /dev/vhost-net: QEMU copies every packet"
OFF = "switched off by <driver name='qemu'/>"
NETWORK = "type='network': the network's definition would show what it is connected to"
BRIDGE = NicConfig(type="bridge", actual_type="bridge", model="virtio")
KVM = DomainConfig(type="kvm", arch="x86_64")
BARE = HostConfig(vhost_net=False)
DRIVERS = (None, "vhost", "qemu")
HOSTS = (None, True, False)


def not_kvm(kind: str) -> str:
    return (
        f"domain type='{kind}': libvirt opens vhost-net for KVM only, and silently ignores "
        "name='vhost'"
    )


def declared(driver: str | None) -> bool | None:
    return None if driver is None else driver == "vhost"


def nic_of(kind: str, driver: str | None = None, model: str | None = "virtio") -> NicConfig:
    actual = None if kind == "network" else kind
    return NicConfig(type=kind, actual_type=actual, model=model, driver_name=driver)


@pytest.mark.parametrize("domain", ["kvm", "test"])
@pytest.mark.parametrize("kind", ["bridge", "ethernet", "direct"])
@rows
def test_tap_of_a_kvm_guest(
    kind: str,
    domain: str,
    driver: str | None,
    device: bool | None,
    effective: bool | None,
    reason: str,
    starts: bool,
) -> None:
    host = HostConfig(vhost_net=device)
    found = resolve(nic_of(kind, driver), replace(KVM, type=domain), host)
    state = UNKNOWN if effective is None else KNOWN
    assert found.vhost == Resolved(declared(driver), effective, reason, state)
    assert found.starts is starts


@pytest.mark.parametrize(("driver", "device"), list(product(DRIVERS, HOSTS)))
class TestWithoutDevice:
    """Where the host's device makes no difference."""

    @pytest.mark.parametrize("domain", ["qemu", "hvf"])
    @pytest.mark.parametrize("kind", ["bridge", "ethernet", "direct", "network"])
    def test_not_kvm(self, kind: str, domain: str, driver: str, device: bool) -> None:
        host = HostConfig(vhost_net=device)
        found = resolve(nic_of(kind, driver), replace(KVM, type=domain), host)
        assert found.vhost == Resolved(declared(driver), False, not_kvm(domain))
        assert found.starts

    @pytest.mark.parametrize("kind", ["user", "server", "client", "mcast", "udp", "internal"])
    def test_no_tap(self, kind: str, driver: str, device: bool) -> None:
        found = resolve(nic_of(kind, driver), KVM, HostConfig(vhost_net=device))
        reason = f"type='{kind}' never uses vhost-net"
        assert found.vhost == Resolved(declared(driver), False, reason)
        assert found.starts

    @pytest.mark.parametrize(
        ("kind", "reason"),
        [
            ("vhostuser", "vhost-user is the packet path; vhost-net is not used"),
            ("vdpa", "vhost-vDPA is the packet path; vhost-net is not used"),
        ],
    )
    @pytest.mark.parametrize("domain", ["kvm", "qemu"])
    def test_own_path(self, kind: str, reason: str, domain: str, driver: str, device: bool) -> None:
        host = HostConfig(vhost_net=device)
        found = resolve(nic_of(kind, driver), replace(KVM, type=domain), host)
        assert found.vhost == Resolved(declared(driver), None, reason, NONE)
        assert found.starts

    def test_unknown_network(self, driver: str, device: bool) -> None:
        found = resolve(nic_of("network", driver), KVM, HostConfig(vhost_net=device))
        expected = (False, OFF, KNOWN) if driver == "qemu" else (None, NETWORK, UNKNOWN)
        assert found.vhost == Resolved(declared(driver), *expected)
        assert found.starts

    @pytest.mark.parametrize(
        ("model", "reason"),
        [
            ("e1000", "e1000 is emulated by QEMU; only virtio has vhost"),
            (
                "virtio-net-pci",
                "libvirt opens vhost-net for its own virtio models, not for virtio-net-pci",
            ),
        ],
    )
    def test_not_libvirts_virtio(self, model: str, reason: str, driver: str, device: bool) -> None:
        found = resolve(nic_of("bridge", driver, model), KVM, HostConfig(vhost_net=device))
        assert found.vhost == Resolved(declared(driver), False, reason)
        assert found.starts


@pytest.mark.parametrize("driver", DRIVERS)
def test_name_is_not_read_without_a_written_model(driver: str | None) -> None:
    nic = nic_of("bridge", driver, model=None)
    found = resolve(nic, replace(KVM, arch="s390x"), BARE)
    assert found.vhost == Resolved(declared(driver), False, HAS_NOT)
    assert found.starts


class TestOwnDevice:
    """``<backend vhost=>`` names another device than /dev/vhost-net."""

    NIC = replace(BRIDGE, driver_name="vhost", backend_vhost="/dev/vhost-two")

    def test_it_counts(self) -> None:
        host = replace(BARE, vhost_paths=(("/dev/vhost-two", True),))
        found = resolve(self.NIC, KVM, host)
        reason = "the host has /dev/vhost-two; libvirt uses it for KVM"
        assert found.vhost == Resolved(True, True, reason)
        assert found.starts

    def test_it_is_missing(self) -> None:
        host = HostConfig(vhost_net=True, vhost_paths=(("/dev/vhost-two", False),))
        found = resolve(self.NIC, KVM, host)
        reason = "the host has no /dev/vhost-two, which name='vhost' requires: does not start"
        assert found.vhost == Resolved(True, False, reason)
        assert not found.starts

    def test_nobody_looked(self) -> None:
        found = resolve(self.NIC, KVM, BARE)
        assert found.vhost == Resolved(True, None, UNPROVEN, UNKNOWN)
        assert found.starts

    def test_dropped_without_a_written_model(self) -> None:
        nic = replace(self.NIC, model=None, driver_name=None)
        found = resolve(nic, replace(KVM, arch="s390x"), HostConfig(vhost_net=True))
        assert found.vhost == Resolved(None, True, HAS)


class TestRunning:
    @pytest.mark.parametrize("vhost", [True, False])
    def test_what_is_seen_decides(self, vhost: bool) -> None:
        running = RunningNic("virtio-net-pci", "virtio", "tap", vhost=vhost, evidence=DESCRIPTORS)
        found = resolve(replace(BRIDGE, driver_name="qemu"), KVM, BARE, running)
        assert found.vhost == Resolved(False, vhost, "seen in QEMU's open descriptors")

    def test_what_is_not_seen_does_not(self) -> None:
        running = RunningNic("virtio-net-pci", "virtio", "tap")
        assert resolve(BRIDGE, KVM, BARE, running).vhost == Resolved(None, False, HAS_NOT)

    @pytest.mark.parametrize(("vhost", "starts"), [(True, True), (False, False), (None, False)])
    def test_demanded_of_a_host_without(self, vhost: bool | None, starts: bool) -> None:
        """What runs without vhost cannot be started again: VNIC024."""
        running = RunningNic("virtio-net-pci", "virtio", "tap", vhost=vhost)
        nic = replace(BRIDGE, driver_name="vhost")
        assert resolve(nic, KVM, replace(BARE, assumed=True), running).starts is starts
        assert resolve(nic, KVM, BARE, running).starts is starts


class TestWants:
    """Whether a missing /dev/vhost-net is felt."""

    @pytest.mark.parametrize(
        ("nic", "domain", "wants"),
        [
            (BRIDGE, KVM, True),
            (nic_of("direct"), KVM, True),
            (nic_of("bridge", "vhost"), KVM, True),
            (nic_of("bridge", model=None), replace(KVM, arch="s390x"), True),
            (nic_of("bridge", model=None), KVM, False),
            (nic_of("bridge", model=None), replace(KVM, arch=None), False),
            (nic_of("bridge", "qemu"), KVM, False),
            (nic_of("bridge", model="e1000"), KVM, False),
            (nic_of("bridge", model="virtio-net-pci"), KVM, False),
            (BRIDGE, replace(KVM, type="qemu"), False),
            (BRIDGE, replace(KVM, type="xen"), False),
            (nic_of("network"), KVM, False),
            (nic_of("vhostuser"), KVM, False),
            (replace(BRIDGE, type="network", actual_type="hostdev"), KVM, False),
            (replace(BRIDGE, backend_vhost="/dev/vhost-two"), KVM, False),
        ],
    )
    def test_by_definition(self, nic: NicConfig, domain: DomainConfig, wants: bool) -> None:
        for host in (HostConfig(), BARE, HostConfig(vhost_net=True)):
            assert wants_vhost_net(nic, domain, host) is wants

    def test_what_runs_counts(self) -> None:
        old = RunningNic("e1000", "e1000", "tap")
        assert not wants_vhost_net(BRIDGE, KVM, BARE, old)
