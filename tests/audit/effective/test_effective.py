"""The model, what is read of the tuning, what runs, and what is not judged."""

import pytest
from msgspec.structs import replace

from vnicaudit.audit.effective.resolve import resolve
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.host import HostConfig, Version
from vnicaudit.model.nic import KNOWN, NONE, UNKNOWN, NicConfig, Resolved, RunningNic

KVM = DomainConfig(type="kvm", arch="x86_64", machine="pc-q35-9.2", vcpus=4, vcpus_max=4)
HERE = HostConfig(arch="x86_64")
BRIDGE = NicConfig(type="bridge", actual_type="bridge", model="virtio")
NOT_READ = "libvirt reads <driver> only when <model type='virtio'/> is written"


def on(kind: str, **settings: object) -> NicConfig:
    """A written virtio NIC of an interface type; ``network`` is one that is not known."""
    actual = None if kind == "network" else kind
    return replace(BRIDGE, type=kind, actual_type=actual, **settings)


class TestModel:
    @pytest.mark.parametrize(
        ("declared", "effective", "reason", "starts"),
        [
            ("virtio", "virtio", "as declared", True),
            ("virtio-transitional", "virtio-transitional", "as declared", True),
            ("e1000", "e1000", "as declared", True),
            (
                "virtio-net-pci",
                "virtio",
                "libvirt passes it to QEMU unchanged: -device virtio-net-pci",
                True,
            ),
            (
                "notarealnic",
                "notarealnic",
                "'notarealnic' is not a QEMU NIC model: does not start",
                False,
            ),
        ],
    )
    def test_declared(self, declared: str, effective: str, reason: str, starts: bool) -> None:
        found = resolve(replace(BRIDGE, model=declared), KVM, HERE)
        assert found.model == Resolved(declared, effective, reason, KNOWN)
        assert found.starts is starts

    @pytest.mark.parametrize(
        ("arch", "machine", "effective", "where"),
        [
            ("x86_64", "pc-q35-9.2", "rtl8139", "x86_64 pc-q35-9.2"),
            ("s390x", "s390-ccw-virtio", "virtio", "s390x s390-ccw-virtio"),
            ("aarch64", None, "virtio", "aarch64"),
            (None, None, "rtl8139", "x86_64"),  # the host's
        ],
    )
    def test_default(
        self, arch: str | None, machine: str | None, effective: str, where: str
    ) -> None:
        domain = replace(KVM, arch=arch, machine=machine)
        found = resolve(replace(BRIDGE, model=None), domain, HERE)
        reason = f"no model declared: libvirt's default on {where}"
        assert found.model == Resolved(None, effective, reason)

    def test_default_on_an_unknown_network(self) -> None:
        found = resolve(on("network", model=None), KVM, HERE).model
        assert found.reason == (
            "no model declared: libvirt's default on x86_64 pc-q35-9.2 (unless the network hands "
            "out host devices)"
        )

    def test_default_of_no_architecture(self) -> None:
        nic = replace(BRIDGE, model=None, queues=4, rx_queue_size=512)
        found = resolve(nic, replace(KVM, arch=None), HostConfig())
        depends = "depends on the model, which is not known"
        assert (found.model.effective, found.model.state) == (None, UNKNOWN)
        assert found.vhost == Resolved(None, None, depends, UNKNOWN)
        assert found.queues == Resolved(4, None, depends, UNKNOWN)
        assert found.rx_queue_size == Resolved(512, None, depends, UNKNOWN)
        assert found.starts

    @pytest.mark.parametrize(
        ("kind", "libvirt", "effective", "reason"),
        [
            ("vdpa", None, "virtio", "libvirt's default for type='vdpa' since 6.9"),
            ("vhostuser", None, "virtio", "libvirt's default for type='vhostuser' since 11.1"),
            (
                "vhostuser",
                Version(11, 1),
                "virtio",
                "libvirt's default for type='vhostuser' since 11.1",
            ),
            (
                "vhostuser",
                Version(11, 0),
                None,
                "libvirt 11.0.0 refuses type='vhostuser' without a model",
            ),
        ],
    )
    def test_none_written_on_a_path_of_its_own(
        self, kind: str, libvirt: Version | None, effective: str | None, reason: str
    ) -> None:
        found = resolve(on(kind, model=None), KVM, replace(HERE, libvirt_version=libvirt))
        state = KNOWN if effective else NONE
        assert found.model == Resolved(None, effective, reason, state)
        assert found.starts is (effective is not None)


class TestTuning:
    """What libvirt drops, because the model is not virtio in writing."""

    @pytest.mark.parametrize(
        ("model", "arch"), [(None, "s390x"), ("virtio-net-pci", "x86_64")], ids=str
    )
    def test_not_read(self, model: str | None, arch: str) -> None:
        nic = replace(BRIDGE, model=model, queues=600, rx_queue_size=100, tx_queue_size=1024)
        found = resolve(nic, replace(KVM, arch=arch), replace(HERE, qemu_version=Version(10)))
        assert found.model.effective == "virtio"
        assert found.queues == Resolved(600, 1, NOT_READ)
        assert found.rx_queue_size == Resolved(100, 256, NOT_READ)
        assert found.tx_queue_size == Resolved(1024, 256, NOT_READ)
        assert found.starts

    def test_dropped_from_an_emulated_model(self) -> None:
        nic = replace(
            BRIDGE, model="e1000", driver_name="vhost", queues=600, rx_queue_size=100,
            tx_queue_size=1024,
        )  # fmt: skip
        found = resolve(nic, KVM, replace(HERE, qemu_version=Version(10), vhost_net=False))
        assert found.queues == Resolved(600, 1, "e1000 has one queue; libvirt drops queues= on it")
        for name in ("rx_queue_size", "tx_queue_size"):
            ring = getattr(found, name)
            assert ring.reason == f"e1000 has no virtio ring; libvirt drops {name}= on it"
            assert (ring.effective, ring.state) == (None, NONE)
        assert found.starts

    def test_nothing_to_drop(self) -> None:
        found = resolve(replace(BRIDGE, model="e1000"), KVM, HERE)
        assert found.queues == Resolved(None, 1, "e1000 has one queue")
        assert found.rx_queue_size == Resolved(None, None, "e1000 has no virtio ring", NONE)

    @pytest.mark.parametrize("field", ["queues", "rx_queue_size", "tx_queue_size"])
    def test_no_number(self, field: str) -> None:
        nic = replace(BRIDGE, invalid=((field, "many"),))
        found = resolve(nic, KVM, HERE)
        reason = f"{field}= is not a number: libvirt refuses the definition"
        assert getattr(found, field) == Resolved(None, None, reason, NONE)
        assert not found.starts
        assert resolve(replace(nic, model="e1000"), KVM, HERE).starts, "never read"


V10 = Version(10, 0, 13)
RUNS = RunningNic(
    "virtio-net-pci", "virtio", "tap", vhost=True, queues=2, rx_queue_size=512, tx_queue_size=256
)


class TestRunning:
    """What runs decides; and proves that it starts, for the versions it runs on."""

    @pytest.mark.parametrize(
        ("broken", "starts"),
        [
            ({"queues": 300}, True),
            ({"rx_queue_size": 100}, True),
            ({"model": "notarealnic"}, True),
            # what is certain to be refused the next time (VNIC034, VNIC031)
            ({"tx_queue_size": 1024}, False),
            ({"invalid": (("queues", "many"),)}, False),
        ],
        ids=str,
    )
    def test_starts(self, broken: dict[str, object], starts: bool) -> None:
        host = replace(HERE, qemu_version=V10)
        nic = replace(BRIDGE, **broken)
        assert not resolve(nic, KVM, host).starts
        assert resolve(nic, KVM, host, RUNS).starts is starts

    @pytest.mark.parametrize(
        "broken", [{"queues": 300}, {"rx_queue_size": 100}, {"tx_queue_size": 1024}], ids=str
    )
    def test_proves_nothing_for_assumed_versions(self, broken: dict[str, object]) -> None:
        host = replace(HERE, qemu_version=V10, assumed=True)
        assert not resolve(replace(BRIDGE, **broken), KVM, host, RUNS).starts

    def test_an_assumed_libvirt_that_wants_a_model(self) -> None:
        host = replace(HERE, libvirt_version=Version(9))
        nic = on("vhostuser", model=None)
        assert resolve(nic, KVM, host, RUNS).starts
        assert not resolve(nic, KVM, replace(host, assumed=True), RUNS).starts

    def test_values(self) -> None:
        nic = replace(BRIDGE, model="e1000", queues=8)
        found = resolve(nic, KVM, HERE, RUNS)
        assert found.model == Resolved("e1000", "virtio", "QEMU runs -device virtio-net-pci")
        assert found.vhost == Resolved(None, True, "seen in QEMU's command line")
        assert found.queues == Resolved(8, 2, "QEMU runs 2 queue pairs")
        assert found.rx_queue_size == Resolved(None, 512, "from QEMU's arguments")
        assert found.tx_queue_size == Resolved(None, 256, "from QEMU's arguments")

    def test_rings_are_worked_out_anew_for_assumed_versions(self) -> None:
        found = resolve(BRIDGE, KVM, replace(HERE, qemu_version=V10, assumed=True), RUNS)
        assert found.rx_queue_size == Resolved(None, 256, "none declared: QEMU's default")

    def test_more_than_the_backend_has(self) -> None:
        running = replace(RUNS, tx_queue_size=1024)
        found = resolve(replace(BRIDGE, tx_queue_size=1024), KVM, HERE, running)
        reason = "QEMU was started with 1024; the backend supports 256 at most"
        assert found.tx_queue_size == Resolved(1024, 256, reason)


class TestNotJudged:
    @pytest.mark.parametrize(
        "nic",
        [
            NicConfig(type="hostdev", actual_type="hostdev"),
            NicConfig(type="network", actual_type="hostdev", model="virtio", queues=300),
            NicConfig(type="network", teaming="transient"),
        ],
        ids=["hostdev", "network of host devices", "transient half of a pair"],
    )
    def test_assigned(self, nic: NicConfig) -> None:
        found = resolve(nic, KVM, HERE)
        reason = "passed through: the guest drives the host's device itself"
        assert found.model == Resolved(nic.model, None, reason, NONE)
        assert found.vhost == Resolved(None, None, "passed through: no virtio device", NONE)
        assert found.starts

    def test_a_hostdev_of_unknown_class(self) -> None:
        nic = NicConfig(type="hostdev", origin="hostdev", actual_type="hostdev")
        assert resolve(nic, KVM, HERE).model.state == UNKNOWN
        pair = replace(nic, teaming="transient")
        assert resolve(pair, KVM, HERE).model.state == NONE

    def test_another_hypervisor(self) -> None:
        found = resolve(on("bridge", queues=300), replace(KVM, type="xen"), HERE)
        reason = "not a QEMU domain (type='xen'): not judged"
        assert found.model == Resolved("virtio", None, reason, UNKNOWN)
        assert found.queues == Resolved(300, None, reason, UNKNOWN)
        assert found.starts
