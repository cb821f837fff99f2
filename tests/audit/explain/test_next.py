"""What to check next on a NIC that may be slow although its definition is right."""

import pytest
from msgspec.structs import replace

from vnicaudit.audit.explain import next_checks
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.domain import Domain, DomainConfig, DomainState, LiveFacts
from vnicaudit.model.finding import Location
from vnicaudit.model.host import HostConfig
from vnicaudit.model.nic import Nic, NicConfig, PathMtu, RunningNic

MAC = "52:54:00:00:00:01"
LIVE = Location("qemu:///system")
NIC = Nic(
    0, NicConfig(type="bridge", actual_type="bridge", model="virtio"), LIVE, MAC,
    source="br0", target_dev="vnet3",
)  # fmt: skip
CONFIG = DomainConfig(type="kvm", arch="x86_64", vcpus=4, nics=1, described_by="live")
STATE = DomainState(active=True, persistent=True, agent=True)
GUEST = Domain("web-01", CONFIG, LIVE, (NIC,), live=LiveFacts(STATE))
RUNNING = RunningNic("virtio-net-pci", "virtio", "tap", mac=MAC, vhost=True, queues=4, mtu=9000)
WINDOWS = replace(CONFIG, os_id="http://microsoft.com/win/2k22")


def told(
    domain: Domain = GUEST, nic: Nic = NIC, target: str = "qemu:///system"
) -> dict[str, tuple[str, str]]:
    """Command -> where it is run, and what it should show."""
    effective = every_platform().resolver(domain.declared)(
        nic.declared, domain.declared, HostConfig(), nic.running
    )
    found = list(next_checks(domain, nic, effective, target))
    assert len(found) <= 10
    return {each.command: (each.area, each.look) for each in found}


def test_everything_that_a_definition_does_not_show() -> None:
    assert list(told()) == [
        "ethtool -k IFACE",
        "uname -r; ethtool -i IFACE",
        f"vnicaudit explain qemu:///system --nic {MAC}",
        "grep . /sys/class/net/vnet3/queues/rx-*/rps_cpus",
        "ethtool -k UPLINK",
        "ip link show master br0",
        "ping -M do -s 1472 PEER",
        "vnicaudit bench run agent://web-01,ssh://root@PEER --profile quick",
    ]


def test_what_is_known_is_not_asked_again() -> None:
    known = replace(NIC, running=RUNNING, path=PathMtu(9000, 9000))
    state = replace(STATE, guest_os="debian 12", guest_kernel="6.1")
    found = told(GUEST.with_state(state), known)
    assert list(found) == [
        "ethtool -l IFACE",
        "ethtool -k IFACE",
        "ps -eLo pcpu,psr,comm | grep vhost-",
        "grep . /sys/class/net/vnet3/queues/rx-*/rps_cpus",
        "ethtool -k UPLINK",
        "ping -M do -s 8972 PEER",
        "vnicaudit bench run agent://web-01,ssh://root@PEER --profile quick",
    ]
    assert found["ethtool -l IFACE"] == ("guest", "Combined, in use, is 4")


def test_windows_has_words_of_its_own() -> None:
    windows = replace(GUEST, declared=WINDOWS)
    found = told(windows, replace(NIC, running=RUNNING))
    assert list(found)[:2] == [
        "Get-NetAdapter | Format-List Name, DriverVersion",
        "Get-NetAdapterRss",
    ]
    assert found["Get-NetAdapterRss"][1] == "RSS is enabled, NumberOfReceiveQueues is 4"
    assert "ping -f -l 8972 PEER" in found
    assert not any("ethtool -l" in one or "bench" in one for one in found)


@pytest.mark.parametrize(
    ("agent", "target", "end"),
    [
        (None, "qemu:///system", "agent://web-01,ssh://root@PEER"),
        (False, "qemu:///system", "ssh://root@GUEST,ssh://root@PEER"),
        (
            True,
            "qemu+ssh://root@kvm7/system",
            "'agent://web-01?connect=qemu+ssh://root@kvm7/system,ssh://root@PEER'",
        ),
    ],
)
def test_the_line_for_bench(agent: bool | None, target: str, end: str) -> None:
    found = told(GUEST.with_state(replace(STATE, agent=agent)), target=target)
    assert list(found)[-1] == f"vnicaudit bench run {end} --profile quick"


def test_macvtap_names_its_uplink() -> None:
    config = NicConfig(type="direct", actual_type="direct", model="virtio")
    found = told(nic=replace(NIC, declared=config, source="eth0", target_dev=None))
    assert {"ethtool -k eth0", "ip link show eth0"} <= found.keys()
    assert "grep . /sys/class/net/TAP/queues/rx-*/rps_cpus" in found


@pytest.mark.parametrize("name", ["x; reboot", "$(reboot)", "--reboot", "../reboot"])
def test_no_name_becomes_a_command_or_an_option(name: str) -> None:
    odd = replace(NIC, source=name, target_dev=name)
    found = told(replace(GUEST, name=f"web '01{name}"), odd)
    assert not any("reboot" in one for one in found)


def test_an_emulated_nic_is_only_measured() -> None:
    emulated = replace(NIC, declared=replace(NIC.declared, model="e1000"))
    assert [where for where, _look in told(nic=emulated).values()] == ["measure"]
