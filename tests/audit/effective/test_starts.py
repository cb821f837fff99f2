"""``starts`` and the rules agree: what an error finding says does not start, does not start."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.rows import rows
from tests.shares import examples
from vnicaudit.audit.effective.resolve import resolve
from vnicaudit.audit.judging.catalogue import rule_ids
from vnicaudit.audit.judging.domains import DomainAuditor
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.domain import Domain, DomainConfig, DomainState
from vnicaudit.model.finding import DESCRIPTORS, LOG, Finding, Location
from vnicaudit.model.host import HostConfig, Version
from vnicaudit.model.nic import Nic, NicConfig, RunningNic

ENGINE = DomainAuditor(rule_ids(), every_platform())
KVM = DomainConfig(type="kvm", arch="x86_64", machine="q35", vcpus=2, shared_memory=True)
S390 = replace(KVM, arch="s390x", machine="s390-ccw-virtio")
TAP = NicConfig(type="bridge", actual_type="bridge", model="virtio")
VHOSTUSER = replace(TAP, type="vhostuser", actual_type="vhostuser")
VDPA = replace(TAP, type="vdpa", actual_type="vdpa", device="/dev/vhost-vdpa-0")
GONE = HostConfig(vhost_paths=(("/dev/vhost-vdpa-0", False),))
NOW = RunningNic("virtio-net-pci", "virtio", "tap", vhost=True, queues=1)


def _errors(nic: NicConfig, domain: DomainConfig, host: HostConfig, *more: object) -> list[Finding]:
    running, state = (*more, None, None)[:2]
    place = Location("t", "f", 1)
    found = Domain(
        "guest",
        domain,
        place,
        (Nic(0, nic, place, running=running),),  # type: ignore[arg-type]
    ).with_state(state)  # type: ignore[arg-type]
    audited = ENGINE.audit_domain(found, host, "t")
    assert audited.crashed == ()
    return [finding for finding in audited.findings if finding.severity == "error"]


@pytest.mark.parametrize(
    ("rule", "nic", "domain", "host", "reason"),
    [
        ("VNIC007", replace(TAP, model="lan9118"), KVM, HostConfig(),
         "QEMU has no lan9118 on x86_64: does not start"),
        ("VNIC007", replace(TAP, model="virtio-net-ccw"), KVM, HostConfig(),
         "QEMU has no virtio-net-ccw on x86_64: does not start"),
        ("VNIC007", replace(TAP, model="virtio-net-transitional"), KVM, HostConfig(),
         "'virtio-net-transitional' is not a QEMU NIC model: does not start"),
        ("VNIC007", replace(TAP, model="igb"), KVM, HostConfig(qemu_version=Version(7, 2, 22)),
         "QEMU 7.2.22 has no igb on x86_64: does not start"),
        ("VNIC008", replace(TAP, model="rtl8139"), S390, HostConfig(),
         "QEMU has no rtl8139 on s390x: does not start"),
        ("VNIC008", replace(TAP, model="e1000e"), S390, HostConfig(qemu_version=Version(7, 2)),
         "QEMU 7.2.0 has no e1000e on s390x: does not start"),
        ("VNIC011", replace(TAP, model="e1000", packed="off"), KVM, HostConfig(), "as declared"),
        ("VNIC011", replace(TAP, model=None, iommu="on"), KVM, HostConfig(),
         "no model declared: libvirt's default on x86_64 q35"),
        ("VNIC011", NicConfig(type="hostdev", actual_type="hostdev", ats="on"), KVM, HostConfig(),
         "passed through: the guest drives the host's device itself"),
        ("VNIC041", VHOSTUSER, replace(KVM, shared_memory=False),
         HostConfig(libvirt_version=Version(11, 2)), "as declared"),
        ("VNIC043", VDPA, KVM, GONE, "as declared"),
    ],
)  # fmt: skip
def test_what_a_rule_says_does_not_start(
    rule: str, nic: NicConfig, domain: DomainConfig, host: HostConfig, reason: str
) -> None:
    assert [finding.rule for finding in _errors(nic, domain, host)] == [rule]
    found = resolve(nic, domain, host)
    assert (found.starts, found.model.reason) == (False, reason)


@pytest.mark.parametrize(
    ("nic", "domain", "host"),
    [
        (replace(TAP, model="igb"), KVM, HostConfig()),
        (replace(TAP, model="igb"), KVM, HostConfig(qemu_version=Version(8))),
        (replace(TAP, model="e1000e"), S390, HostConfig()),
        (replace(TAP, model="e1000e"), S390, HostConfig(qemu_version=Version(10))),
        (TAP, S390, HostConfig(qemu_version=Version(7, 2))),
        (replace(TAP, model=None, packed="on"), S390, HostConfig()),
        (replace(TAP, model="e1000", packed="auto"), KVM, HostConfig()),
        (VHOSTUSER, replace(KVM, shared_memory=False), HostConfig()),
        (VHOSTUSER, replace(KVM, shared_memory=False), HostConfig(libvirt_version=Version(11, 1))),
        (VHOSTUSER, replace(KVM, shared_memory=None), HostConfig(libvirt_version=Version(12))),
        (VHOSTUSER, KVM, HostConfig(libvirt_version=Version(12))),
        (VDPA, KVM, HostConfig(vhost_paths=(("/dev/vhost-vdpa-0", True),))),
        (VDPA, KVM, HostConfig(libvirt_version=Version(6, 9), qemu_version=Version(5, 1))),
        (replace(TAP, model="cadence_gem"), replace(KVM, arch="armv7l", machine="xilinx-zynq-a9"),
         HostConfig()),
        (replace(TAP, type="network", actual_type="hostdev", model="vmxnet"), KVM, HostConfig()),
    ],
)  # fmt: skip
def test_what_is_not_known_to_be_refused(
    nic: NicConfig, domain: DomainConfig, host: HostConfig
) -> None:
    assert resolve(nic, domain, host).starts


@pytest.mark.parametrize("model", ["virtio", None])
@pytest.mark.parametrize(
    ("host", "reason"),
    [
        (HostConfig(libvirt_version=Version(6, 8)),
         "libvirt 6.8.0 has no type='vdpa' (added in 6.9): does not start"),
        (HostConfig(qemu_version=Version(5)),
         "QEMU 5.0.0 has no type='vdpa' (added in 5.1): does not start"),
    ],
)  # fmt: skip
def test_vdpa_before_its_time(model: str | None, host: HostConfig, reason: str) -> None:
    nic = replace(VDPA, model=model)
    found = resolve(nic, KVM, host)
    assert (found.starts, found.model.effective, found.model.reason) == (False, None, reason)
    assert resolve(nic, KVM, host, NOW).starts, "it runs"
    assert not resolve(nic, KVM, replace(host, assumed=True), NOW).starts


def test_what_runs_does_not_start_again_where_qemu_has_become_stricter() -> None:
    nic, running = replace(TAP, tx_queue_size=1024), replace(NOW, tx_queue_size=1024)
    host = HostConfig(qemu_version=Version(10, 0, 13))
    assert [finding.rule for finding in _errors(nic, KVM, host, running)] == ["VNIC034"]
    found = resolve(nic, KVM, host, running)
    assert (found.tx_queue_size.effective, found.starts) == (256, False)
    assert resolve(nic, KVM, HostConfig(qemu_version=Version(8)), running).starts


@rows
def test_arguments_alone_do_not_prove_a_ring(origin: str, evidence: str, starts: bool) -> None:
    """QEMU does not start with a ring of 2048: what was given that is a start that failed."""
    nic = replace(TAP, origin=origin, rx_queue_size=2048)
    running = replace(NOW, rx_queue_size=2048, evidence=evidence)
    found = resolve(nic, KVM, HostConfig(), running)
    assert found.starts is starts
    assert bool(_errors(nic, KVM, HostConfig(), running)) is not starts


VERSIONS = st.none() | st.sampled_from(
    [Version(5), Version(6, 9), Version(7, 2, 22), Version(8, 1), Version(10), Version(11, 2)]
)
TYPES = ("bridge", "network", "direct", "user", "vhostuser", "vdpa", "hostdev", "mcast")
ACTUAL = {kind: (kind,) for kind in TYPES} | {"network": (None, "bridge", "direct", "hostdev")}
PLACES = tuple((kind, actual) for kind in TYPES for actual in ACTUAL[kind])
ON_OFF = st.sampled_from([None, "on", "off"])
NICS = st.builds(
    lambda place, settings: NicConfig(type=place[0], actual_type=place[1], **settings),
    st.sampled_from(PLACES),
    st.fixed_dictionaries(
        {
            "model": st.sampled_from(
                [None, "virtio", "e1000", "e1000e", "igb", "rtl8139", "lan9118", "vmxnet", "nonic",
                 "virtio-net-pci", "virtio-net-ccw", "virtio-transitional"]
            ),
            "origin": st.sampled_from(["interface", "interface", "commandline", "qemu"]),
            "driver_name": st.sampled_from([None, "vhost", "qemu"]),
            "backend_vhost": st.sampled_from([None, "/dev/vhost-two"]),
            "queues": st.sampled_from([None, 0, 1, 2, 8, 300, 600]),
            "rx_queue_size": st.sampled_from([None, 0, 100, 128, 256, 1024, 2048]),
            "tx_queue_size": st.sampled_from([None, 0, 100, 256, 512, 1024, 2048]),
            "packed": ON_OFF,
            "iommu": ON_OFF,
            "teaming": st.sampled_from([None, "transient"]),
            "device": st.sampled_from([None, "/dev/vhost-vdpa-0"]),
            "invalid": st.sampled_from([(), (("queues", "x"),), (("rx_queue_size", "x"),)]),
        }
    ),
)  # fmt: skip
DOMAINS = st.builds(
    DomainConfig,
    type=st.sampled_from(["kvm", "kvm", "qemu"]),
    arch=st.sampled_from([None, "x86_64", "s390x", "aarch64", "ppc64"]),
    vcpus=st.sampled_from([None, 1, 4]),
    described_by=st.sampled_from(["raw", "dump", "live", "qemu"]),
    shared_memory=st.sampled_from([None, True, False]),
)
HOSTS = st.builds(
    HostConfig,
    libvirt_version=VERSIONS,
    qemu_version=VERSIONS,
    assumed=st.booleans(),
    arch=st.sampled_from([None, "x86_64", "s390x"]),
    vhost_net=st.sampled_from([None, True, False]),
    vhost_paths=st.sampled_from(
        [(), (("/dev/vhost-two", False), ("/dev/vhost-vdpa-0", False)), (("/dev/vhost-two", True),)]
    ),
)
RUNNING = st.none() | st.builds(
    lambda driver, settings: RunningNic(driver[0], driver[1], "tap", **settings),
    st.sampled_from([("virtio-net-pci", "virtio"), ("e1000", "e1000"), ("igb", "igb")]),
    st.fixed_dictionaries(
        {
            "vhost": st.sampled_from([None, True, False]),
            "queues": st.sampled_from([None, 1, 8, 300]),
            "rx_queue_size": st.sampled_from([None, 256, 1024, 2048]),
            "tx_queue_size": st.sampled_from([None, 256, 1024]),
            "evidence": st.sampled_from(["command line", LOG, DESCRIPTORS]),
        }
    ),
)
STATES = st.none() | st.builds(DomainState, active=st.booleans())


def test_a_device_of_the_host_that_a_network_gives_needs_no_model() -> None:
    nic = NicConfig("network", "interface", actual_type="hostdev", model="lan9118")
    domain = DomainConfig("kvm", arch="aarch64")
    assert not list(_errors(nic, domain, HostConfig(), None, None))
    assert resolve(nic, domain, HostConfig(), None).starts


@settings(max_examples=examples(1000))
@given(NICS, DOMAINS, HOSTS, RUNNING, STATES)
def test_starts_never_contradicts_an_error(
    nic: NicConfig,
    domain: DomainConfig,
    host: HostConfig,
    running: RunningNic | None,
    state: DomainState | None,
) -> None:
    errors = _errors(nic, domain, host, running, state)
    found = [error for error in errors if not _starts_and_fails(error, host)]
    if found:
        assert not resolve(nic, domain, host, running).starts, found[0]


def _starts_and_fails(error: Finding, host: HostConfig) -> bool:
    """A libvirt that starts vhost-user without shared memory, where no packet passes then."""
    version = host.libvirt_version
    return error.rule == "VNIC041" and (version is None or version < Version(11, 2))


def test_the_strategies_reach_every_rule_with_errors() -> None:
    """So that the property above does not hold for want of cases."""
    reached = {
        error.rule
        for nic, domain, host in product(
            (TAP, replace(TAP, model="nonic"), replace(TAP, model="e1000", packed="on"),
             replace(TAP, driver_name="vhost"), replace(TAP, queues=300),
             replace(TAP, driver_name="vhost", backend_vhost="/dev/vhost-two"),
             replace(TAP, type="user", actual_type="user", queues=8),
             replace(TAP, tx_queue_size=512), replace(TAP, rx_queue_size=100), VHOSTUSER, VDPA),
            (KVM, S390, replace(KVM, shared_memory=False)),
            (HostConfig(vhost_net=False, qemu_version=Version(10), vhost_paths=(
                ("/dev/vhost-two", False), ("/dev/vhost-vdpa-0", False))),),
        )
        for error in _errors(nic, domain, host)
    }  # fmt: skip
    assert reached >= {
        "VNIC007", "VNIC008", "VNIC011", "VNIC024", "VNIC025", "VNIC031", "VNIC032", "VNIC034",
        "VNIC035", "VNIC041", "VNIC043",
    }  # fmt: skip
