"""Which versions a NIC is judged by: assumed ones, then those that run it, then the host's."""

import datetime

import pytest
from msgspec.structs import replace

from vnicaudit.audit.accepting.suppressions import Suppressor
from vnicaudit.audit.work import Assumptions, AuditWork, NicsWork
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.domain import Domain, DomainConfig
from vnicaudit.model.finding import Location
from vnicaudit.model.host import HostConfig, Version
from vnicaudit.model.nic import Nic, NicConfig
from vnicaudit.model.rule import HostSubject

NIC = NicConfig(type="bridge", actual_type="bridge", model="virtio", tx_queue_size=1024)
GUEST = Domain(
    "guest", DomainConfig(type="kvm", arch="x86_64", vcpus=1, nics=1), Location("t"),
    (Nic(0, NIC, Location("t")),),
)  # fmt: skip
OLD, NEW = Version(7, 2, 22), Version(10, 0, 13)


def audit(assumptions: Assumptions, *rules: str) -> AuditWork:
    suppressor = Suppressor((), datetime.date(2026, 11, 21), rules)
    return AuditWork(rules, assumptions, suppressor, {}, every_platform())


@pytest.mark.parametrize(
    ("assumed", "own", "hosts", "reason", "effect"),
    [
        (
            None, None, OLD,
            "QEMU 7.2.22 silently reduces it",
            "QEMU 7.2.22 ignores it, and does not start from 8.1 on",
        ),
        (
            None, None, NEW,
            "QEMU 10.0.13 refuses to start",
            "with QEMU 10.0.13 this domain does not start",
        ),
        (
            None, OLD, NEW,
            "QEMU 7.2.22 silently reduces it",
            "QEMU 7.2.22 ignores it, and does not start from 8.1 on",
        ),
        (
            None, NEW, OLD,
            "QEMU 10.0.13 refuses to start",
            "with QEMU 10.0.13 this domain does not start",
        ),
        (
            NEW, OLD, OLD,
            "QEMU 10.0.13 refuses to start",
            "with QEMU 10.0.13 (assumed) this domain does not start",
        ),
        (
            OLD, NEW, NEW,
            "QEMU 7.2.22 silently reduces it",
            "QEMU 7.2.22 (assumed) ignores it, and does not start from 8.1 on",
        ),
        (
            OLD, None, NEW,
            "QEMU 7.2.22 silently reduces it",
            "QEMU 7.2.22 (assumed) ignores it, and does not start from 8.1 on",
        ),
    ],
)  # fmt: skip
def test_qemu(
    assumed: Version | None, own: Version | None, hosts: Version, reason: str, effect: str
) -> None:
    domain, host = replace(GUEST, qemu_version=own), HostConfig(qemu_version=hosts)
    given = Assumptions(qemu=assumed)
    nic = NicsWork(given, every_platform()).domain(domain, host, "t").nics[0]
    assert nic.effective is not None
    assert nic.effective.tx_queue_size.reason == reason
    (finding,) = audit(given, "VNIC034").domain(domain, host, "t").findings
    assert finding.message == (
        f"tx_queue_size=1024 on type='bridge', which has 256 at most: {effect}"
    )


@pytest.mark.parametrize(
    ("assumed", "own", "hosts", "starts"),
    [
        (None, None, Version(11, 1), True),
        (None, Version(11, 0), Version(11, 1), False),
        (None, Version(11, 1), Version(11, 0), True),
        (Version(11, 0), Version(11, 1), Version(11, 1), False),
        (Version(11, 1), Version(11, 0), Version(11, 0), True),
    ],
)
def test_libvirt(
    assumed: Version | None, own: Version | None, hosts: Version, starts: bool
) -> None:
    nic = Nic(0, NicConfig(type="vhostuser", actual_type="vhostuser"), Location("t"))
    domain = replace(GUEST, nics=(nic,), libvirt_version=own)
    work = NicsWork(Assumptions(libvirt=assumed), every_platform())
    effective = work.domain(domain, HostConfig(libvirt_version=hosts), "t").nics[0].effective
    assert effective is not None
    assert effective.starts is starts


def test_one_assumption_leaves_the_other_version() -> None:
    host = HostConfig(qemu_version=OLD, libvirt_version=Version(9))
    seen = Assumptions(qemu=NEW).applied(host)
    assert (seen.qemu_version, seen.libvirt_version, seen.assumed) == (NEW, Version(9), True)
    assert Assumptions().applied(host) is host


def test_findings_of_the_baseline_are_told_apart() -> None:
    host = HostConfig(qemu_version=OLD)
    (finding,) = audit(Assumptions(), "VNIC034").domain(GUEST, host, "t").findings
    suppressor = Suppressor((), datetime.date(2026, 11, 21), ("VNIC034",))
    baseline = {finding.fingerprint: finding.severity}
    known = AuditWork(("VNIC034",), Assumptions(), suppressor, baseline, every_platform())
    audited = known.domain(GUEST, host, "t")
    assert (audited.findings, audited.baselined) == ((), (finding,))


def test_a_host_is_judged_for_what_its_guests_use() -> None:
    host = HostConfig(vhost_net=False)
    work = audit(Assumptions(), "VNIC023")
    (finding,) = work.host("hv1", HostSubject(host, frozenset({"kvm-tap"})), "t").findings
    assert finding.message.startswith("no /dev/vhost-net and no vhost_net module")
    assert work.host("hv1", HostSubject(host, frozenset({"bridge"})), "t").findings == ()
