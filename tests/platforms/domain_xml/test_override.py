"""``<qemu:override>``: whose properties it changes, and what is then known of the NIC.

What libvirt and QEMU make of it is recorded in tests/conformance/data/override.xml.
"""

import pytest

from tests.rows import rows
from vnicaudit.audit.effective.resolve import resolve
from vnicaudit.audit.judging.domains import DomainAuditor
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import HostConfig, Version
from vnicaudit.model.nic import KNOWN, NONE, UNKNOWN, Effective, Resolved, RunningNic
from vnicaudit.platforms.domain_xml.read import read_bytes

NS = "http://libvirt.org/schemas/domain/qemu/1.0"
UNCERTAIN = (
    "<qemu:override> changes it on this NIC or another one: the running guest's aliases "
    "would show which"
)
TAP = "<interface type='bridge'><source bridge='br0'/><model type='virtio'/>{}</interface>"
NETWORK = "<interface type='network'><source network='n'/><model type='virtio'/>{}</interface>"
VHOSTUSER = TAP.replace("bridge", "vhostuser")


def _device(alias: str, **properties: str) -> str:
    """``name='value'``; an empty value removes the property."""
    found = "".join(
        f"<q:property name='{name}' type='{'string' if value else 'remove'}' value='{value}'/>"
        for name, value in properties.items()
    )
    return f"<q:device alias='{alias}'><q:frontend>{found}</q:frontend></q:device>"


def _domain(nics: str, *devices: str, id_: str = "") -> Domain:
    text = (
        f"<domain type='kvm'{id_} xmlns:q='{NS}'><name>a</name>"
        f"<os><type arch='x86_64' machine='q35'>hvm</type></os><devices>{nics}</devices>"
        f"<q:override>{''.join(devices)}</q:override></domain>"
    )
    (found,) = read_bytes(text.encode(), target="t", file="f")
    return found


def _resolved(domain: Domain, index: int = 0, host: HostConfig | None = None) -> Effective:
    return resolve(domain.nics[index].declared, domain.declared, host or HostConfig())


def _rings(domain: Domain) -> list[int | None]:
    return [_resolved(domain, nic.index).rx_queue_size.effective for nic in domain.nics]


@rows
def test_whose_it_is(nics: str, alias: str, rings: list[int | None]) -> None:
    assert _rings(_domain(nics, _device(alias, rx_queue_size="1024"))) == rings


def test_a_running_guest_shows_its_aliases() -> None:
    nics = TAP.format("<alias name='net7'/>") + TAP.format("<alias name='net0'/>")
    domain = _domain(nics, _device("net0", rx_queue_size="512"), id_=" id='3'")
    assert _rings(domain) == [256, 512]


def test_where_it_cannot_be_told_what_it_changes_is_unknown_and_the_rest_is_not() -> None:
    domain = _domain(NETWORK.format("") + TAP.format(""), _device("net1", rx_queue_size="1024"))
    found = _resolved(domain, 1)
    assert found.rx_queue_size == Resolved(None, None, UNCERTAIN, UNKNOWN)
    assert found.tx_queue_size == Resolved(None, 256, "none declared: QEMU's default")
    assert found.starts
    other = _domain(NETWORK.format("") + TAP.format(""), _device("net1", driver="e1000"))
    assert _resolved(other, 1).model == Resolved(None, None, UNCERTAIN, UNKNOWN)
    tap = TAP.format("<driver queues='4'/>")
    several = _domain(NETWORK.format("") + tap, _device("net1", mq="false"))
    assert _resolved(several, 1).queues == Resolved(4, None, UNCERTAIN, UNKNOWN)


V7, V10 = Version(7, 2, 22), Version(10, 0, 13)
CUT = "QEMU before 8.1 silently reduces it, later ones do not start"


@pytest.mark.parametrize(
    ("nic", "properties", "qemu", "expected"),
    [
        (TAP, {"rx_queue_size": "512"}, None, Resolved(None, 512, "set by <qemu:override>")),
        (TAP, {"rx_queue_size": ""}, None,
         Resolved(None, 256, "<qemu:override> leaves QEMU's default")),
        (TAP, {"rx_queue_size": "2048"}, None,
         Resolved(None, None, "<qemu:override>: does not start: a ring is a power of two from 256 "
                  "to 1024", NONE)),
        (TAP, {"rx_queue_size": "many"}, None,
         Resolved(None, None, "<qemu:override>: does not start: a ring is a power of two from 256 "
                  "to 1024", NONE)),
        (TAP, {"tx_queue_size": "1024"}, None,
         Resolved(None, 256, f"<qemu:override>: type='bridge' has 256 at most: {CUT}")),
        (TAP, {"tx_queue_size": "1024"}, V7,
         Resolved(None, 256, "<qemu:override>: QEMU 7.2.22 silently reduces it")),
        (TAP, {"tx_queue_size": "1024"}, V10,
         Resolved(None, None, "<qemu:override>: QEMU 10.0.13 refuses to start", NONE)),
        (VHOSTUSER, {"tx_queue_size": "1024"}, V10,
         Resolved(None, 1024, "set by <qemu:override>")),
    ],
)  # fmt: skip
def test_rings(
    nic: str, properties: dict[str, str], qemu: Version | None, expected: Resolved[int]
) -> None:
    domain = _domain(nic.format("<driver rx_queue_size='1024' tx_queue_size='512'/>"),
                     _device("net0", **properties))  # fmt: skip
    found = _resolved(domain, host=HostConfig(qemu_version=qemu))
    (name,) = properties
    assert getattr(found, name) == expected
    if name == "rx_queue_size":
        assert found.starts is (expected.state == KNOWN)


@pytest.mark.parametrize(
    ("mq", "effective"), [("false", 1), ("", 1), ("true", 4), ("on", 4), ("off", 1)]
)
def test_multiqueue(mq: str, effective: int) -> None:
    domain = _domain(TAP.format("<driver queues='4'/>"), _device("net0", mq=mq))
    found = _resolved(domain).queues
    assert (found.declared, found.effective) == (4, effective)


def test_another_driver_is_not_guessed_at() -> None:
    found = _resolved(_domain(TAP.format(""), _device("net0", driver="e1000")))
    reason = "<qemu:override> gives QEMU another driver: its command line would show it"
    assert found.model == Resolved(None, None, reason, UNKNOWN)
    assert found.vhost.state == found.rx_queue_size.state == UNKNOWN


def test_on_an_emulated_nic_there_is_no_ring_to_set() -> None:
    nic = TAP.format("").replace("virtio", "e1000")
    found = _resolved(_domain(nic, _device("net0", rx_queue_size="512")))
    assert found.rx_queue_size.reason == (
        "does not start: <qemu:override>: e1000 has no property rx_queue_size; only virtio has"
    )


def test_what_runs_wins() -> None:
    domain = _domain(TAP.format(""), _device("net0", rx_queue_size="512", driver="e1000"))
    running = RunningNic("virtio-net-pci", "virtio", "tap", queues=1, rx_queue_size=1024)
    found = resolve(domain.nics[0].declared, domain.declared, HostConfig(), running)
    assert (found.model.effective, found.rx_queue_size.effective) == ("virtio", 1024)


@rows
def test_no_rule_judges_what_is_changed_behind_it(
    rule: str, nic: str, driver: str, properties: dict[str, str]
) -> None:
    engine = DomainAuditor([rule], every_platform())
    for device, fires in (
        (_device("net1", **properties), True),
        (_device("net0", **properties), False),
    ):
        domain = _domain(nic.format(driver), device)
        found = engine.audit_domain(domain, HostConfig(), "t")
        assert ([finding.rule for finding in found.findings] == [rule]) is fires
        assert found.crashed == ()


def test_damaged_elements_change_nothing() -> None:
    devices = (
        "<q:device/>", "<q:device alias='net0'/>",
        "<q:device alias='net0'><q:frontend/></q:device>",
        "<q:device alias='net0'><q:frontend><q:property/></q:frontend></q:device>",
        "<device alias='net0'><frontend><property name='mq' type='remove'/></frontend></device>",
    )  # fmt: skip
    domain = _domain(TAP.format("<driver rx_queue_size='512'/>"), *devices)
    assert {one.name for one in domain.nics[0].declared.behind} <= {""}
    assert _rings(domain) == [512]
