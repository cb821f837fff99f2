"""A guest that is told an MTU of 9000 behind an uplink of 1500 was called clean, though both were
known: the bridge drops its large frames and tells nobody."""

from pathlib import Path

from msgspec.structs import replace

from tests.platforms.host.trees import TAP, made
from vnicaudit.audit.judging.domains import DomainAuditor
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.host import HostConfig
from vnicaudit.platforms.domain_xml.read import read_bytes
from vnicaudit.platforms.host.local import read_path_mtu

XML = b"""<domain type='kvm' id='1'><name>guest</name><devices>
<interface type='bridge'><source bridge='br0'/><target dev='vnet0'/><model type='virtio'/>
<mtu size='9000'/></interface></devices></domain>"""


def messages(folder: Path, uplink: str) -> list[str]:
    """What is said of the guest on a host with such an uplink."""
    tree = made(folder, vnet0=TAP, eth0={"mtu": uplink, "device": "", "master": "br0"})
    (domain,) = read_bytes(XML, target="t", file="guest.xml")
    (nic,) = domain.nics
    seen = replace(nic, path=read_path_mtu(tree, nic.target_dev or ""))
    judged = DomainAuditor(["VNIC048"], every_platform()).audit_domain(
        replace(domain, nics=(seen,)), HostConfig(), "t"
    )
    return [found.message for found in judged.findings]


def test_an_uplink_that_is_narrower_than_the_guest_is_told(tmp_path: Path) -> None:
    assert messages(tmp_path, "1500") == [
        "the guest uses an MTU of 9000, and an uplink of its bridge has 1500: larger frames are "
        "dropped"
    ]


def test_one_that_is_as_wide_is_no_problem(tmp_path: Path) -> None:
    assert messages(tmp_path, "9000") == []
