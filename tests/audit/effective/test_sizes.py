"""How many queues and how large rings there are, declared and effective, and whether it starts."""

import pytest
from msgspec.structs import replace

from vnicaudit.audit.effective.resolve import resolve
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.host import HostConfig, Version
from vnicaudit.model.nic import KNOWN, NONE, NicConfig, Resolved

KVM = DomainConfig(type="kvm", arch="x86_64", vcpus=4, vcpus_max=4)
HERE = HostConfig(arch="x86_64")


def on(kind: str, **settings: object) -> NicConfig:
    """A written virtio NIC of an interface type; ``network`` is one that is not known."""
    actual = None if kind == "network" else kind
    return replace(NicConfig(type=kind, actual_type=actual, model="virtio"), **settings)


class TestQueues:
    @pytest.mark.parametrize(
        ("kind", "queues", "effective", "reason"),
        [
            ("bridge", None, 1, "none declared: one queue pair"),
            ("bridge", 1, 1, "one queue pair"),
            ("bridge", 4, 4, "as declared"),
            ("bridge", 6, 6, "as declared; 2 of them idle, the guest has 4 vCPUs"),
            ("bridge", 256, 256, "as declared; 252 of them idle, the guest has 4 vCPUs"),
            ("bridge", 257, None, "a tap device has 256 queues at most: does not start"),
            ("ethernet", 300, None, "a tap device has 256 queues at most: does not start"),
            ("direct", 300, None, "a tap device has 256 queues at most: does not start"),
            ("network", 300, None, "a tap device has 256 queues at most: does not start"),
            ("network", 4, 4, "as declared"),
            ("vhostuser", 511, 511, "as declared; 507 of them idle, the guest has 4 vCPUs"),
            ("vhostuser", 512, None, "a vhost-user NIC has 511 queues at most: does not start"),
            ("vdpa", 8, 8, "as declared; QEMU 10 takes the device's own number of queue pairs"),
            ("user", 1, 1, "one queue pair"),
            ("user", 2, None, "libvirt refuses to start: type='user' has no multiqueue"),
            ("server", 2, None, "libvirt refuses to start: type='server' has no multiqueue"),
            ("client", 2, None, "libvirt refuses to start: type='client' has no multiqueue"),
            ("mcast", 2, None, "libvirt refuses to start: type='mcast' has no multiqueue"),
            ("udp", 2, None, "libvirt refuses to start: type='udp' has no multiqueue"),
            ("internal", 2, None, "libvirt refuses to start: type='internal' has no multiqueue"),
        ],
    )
    def test_declared(
        self, kind: str, queues: int | None, effective: int | None, reason: str
    ) -> None:
        found = resolve(on(kind, queues=queues), KVM, HERE)
        state = KNOWN if effective else NONE
        assert found.queues == Resolved(queues, effective, reason, state)
        assert found.starts is (effective is not None)

    def test_vcpus_that_may_be_plugged_are_not_idle(self) -> None:
        found = resolve(on("bridge", queues=4), replace(KVM, vcpus=1), HERE)
        assert found.queues.reason == "as declared"

    def test_one_vcpu(self) -> None:
        found = resolve(on("bridge", queues=4), replace(KVM, vcpus=1, vcpus_max=1), HERE)
        assert found.queues.reason == "as declared; 3 of them idle, the guest has 1 vCPU"


TAP_CAP = "QEMU before 8.1 silently reduces it, later ones do not start"
V7, V8_0, V8_1, V10 = Version(7, 2, 22), Version(8, 0, 5), Version(8, 1), Version(10, 0, 13)


class TestRings:
    @pytest.mark.parametrize("size", [512, 1024])
    @pytest.mark.parametrize(
        ("kind", "qemu", "effective", "reason"),
        [
            ("bridge", None, 256, f"type='bridge' has 256 at most: {TAP_CAP}"),
            ("bridge", V7, 256, "QEMU 7.2.22 silently reduces it"),
            ("bridge", V8_0, 256, "QEMU 8.0.5 silently reduces it"),
            ("bridge", V8_1, None, "QEMU 8.1.0 refuses to start"),
            ("bridge", V10, None, "QEMU 10.0.13 refuses to start"),
            ("ethernet", V10, None, "QEMU 10.0.13 refuses to start"),
            ("direct", V10, None, "QEMU 10.0.13 refuses to start"),
            ("user", V10, None, "QEMU 10.0.13 refuses to start"),
            ("network", None, 256, f"type='network' has 256 at most: {TAP_CAP}"),
            ("network", V7, 256, "QEMU 7.2.22 silently reduces it"),
            ("network", V8_1, None, "QEMU 8.1.0 refuses to start"),
            ("network", V10, None, "QEMU 10.0.13 refuses to start"),
        ],
    )
    def test_transmit_ring_of_256_at_most(
        self, kind: str, qemu: Version | None, effective: int | None, reason: str, size: int
    ) -> None:
        host = replace(HERE, qemu_version=qemu)
        found = resolve(on(kind, tx_queue_size=size), KVM, host)
        state = KNOWN if effective else NONE
        assert found.tx_queue_size == Resolved(size, effective, reason, state)
        assert found.starts is (effective is not None)
        assert resolve(on(kind, rx_queue_size=size), KVM, host).rx_queue_size == Resolved(
            size, size, "as declared"
        )

    @pytest.mark.parametrize("qemu", [None, V7, V8_1, V10])
    @pytest.mark.parametrize("kind", ["vhostuser", "vdpa"])
    def test_transmit_ring_of_1024(self, kind: str, qemu: Version | None) -> None:
        found = resolve(on(kind, tx_queue_size=1024), KVM, replace(HERE, qemu_version=qemu))
        assert found.tx_queue_size == Resolved(1024, 1024, "as declared")
        assert found.starts

    @pytest.mark.parametrize("field", ["rx_queue_size", "tx_queue_size"])
    @pytest.mark.parametrize(
        ("size", "effective", "reason"),
        [
            (None, 256, "none declared: QEMU's default"),
            (0, 256, "none declared: QEMU's default"),
            (256, 256, "as declared"),
            (128, None, "does not start: a ring is a power of two from 256 to 1024"),
            (300, None, "does not start: a ring is a power of two from 256 to 1024"),
            (2048, None, "does not start: a ring is a power of two from 256 to 1024"),
        ],
    )
    def test_sizes(self, field: str, size: int | None, effective: int | None, reason: str) -> None:
        for kind in ("bridge", "vhostuser"):
            found = resolve(on(kind, **{field: size}), KVM, HERE)
            state = KNOWN if effective else NONE
            assert getattr(found, field) == Resolved(size, effective, reason, state)
            assert found.starts is (effective is not None)
