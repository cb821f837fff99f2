"""The environment: what is found, and why the rest is not."""

import json
import os
import platform
import uuid
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.bench.endpoints.said import Saying
from tests.bench.engines.here import Here
from tests.bench.facts.recorded import DATA, text
from tests.bench.facts.test_covariates import Gone
from tests.bench.facts.test_qemu_cpu import running_qemu, wait_for
from vnicaudit.bench.endpoints.ip_output import FoundNic, nic_in, nic_with
from vnicaudit.bench.facts.setup import (
    cpu_model,
    ethtool_values,
    facts_and_reasons,
    host_setup_of,
    link_changes,
    setup_of,
)
from vnicaudit.errors import EndpointError
from vnicaudit.model.host import Section
from vnicaudit.model.measurement import Ran, Setup

NIC = [
    Section("nic", "eth0\n", 0),
    Section("nic.driver.of", "../../../bus/virtio/drivers/virtio_net\n", 0),
    *(
        Section(f"ethtool {option}", text(f"ethtool/6.14/virtio_net.{option}.txt"), 0)
        for option in "iklgc"
    ),
]


def test_a_nic() -> None:
    facts, unknown = facts_and_reasons(NIC)
    assert unknown == {}
    assert facts["nic"] == "eth0"
    assert facts["nic.driver"] == "virtio_net"
    assert facts["nic.driver_version"] == "1.0.0"
    assert facts["nic.channels.combined"] == "1"
    assert facts["nic.rings.rx"] == "256"
    assert facts["nic.coalescing.rx-usecs"] == "0"
    assert facts["nic.offload.generic-receive-offload"] == "on"
    assert "nic.offload.tx-tcp-segmentation" not in facts


def test_a_nic_that_says_nothing() -> None:
    sections = [
        Section("nic", "lo\n", 0),
        Section("nic.driver.of", "", 1),
        *(
            Section(f"ethtool {option}", text(f"ethtool/6.14/lo.{option}.txt"), code)
            for option, code in zip("ilgc", (71, 1, 1, 1), strict=True)
        ),
    ]
    facts, unknown = facts_and_reasons(sections)
    assert facts == {"nic": "lo"}
    assert unknown == {
        "nic.driver": "Cannot get driver information: Operation not supported",
        "nic.channels": "netlink error: Operation not supported",
        "nic.rings": "netlink error: Operation not supported",
        "nic.coalescing": "netlink error: Operation not supported",
    }


@pytest.mark.parametrize(
    ("section", "why"),
    [
        (Section("iperf3", "sh: 5: iperf3: not found\n", 127), "iperf3 is not installed"),
        (Section("iperf3", "sh: iperf3: command not found\n", 127), "iperf3 is not installed"),
        (
            Section("iperf3", "sort: cannot read: '/sys/a[0-9]*/b': No such file or directory", 2),
            "there is no /sys/a[0-9]*/b",
        ),
        (
            Section("iperf3", "cat: /sys/a/b: No such file or directory\n", 1),
            "there is no /sys/a/b",
        ),
        (Section("iperf3", "Segmentation fault\n", 139), "Segmentation fault"),
        (Section("iperf3", "", 1), "exit code 1"),
        (Section("iperf3", "iperf 3.12 " * 9000, None), "its output is too long"),
        (Section("iperf3", "usage\n", 0), "not said"),
    ],
)
def test_why_it_is_not_known(section: Section, why: str) -> None:
    assert facts_and_reasons([section]) == ({}, {"iperf3": why})


@pytest.mark.parametrize(
    ("name", "printed", "code", "value"),
    [
        ("iperf3", "iperf 3.12 (cJSON 1.7.15)\nLinux vm 6.18.44\n", 0, "3.12"),
        ("dnsperf", "DNS Performance Testing Tool\nVersion 2.10.0\n\nUsage: dnsperf", 0, "2.10.0"),
        ("python3", "Python 3.11.2\n", 0, "3.11.2"),
        ("qemu", "QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7)\nCopyright\n", 0, "7.2.22"),
        ("libvirt", "libvirtd (libvirt) 9.0.0\n", 0, "9.0.0"),
        ("virtualization", "none\n", 1, "none"),
        ("virtualization", "kvm\n", 0, "kvm"),
        ("governor", "performance\npowersave\n", 0, "performance powersave"),
        ("product", "QEMU\nStandard PC (i440FX + PIIX, 1996)\n", 0,
         "QEMU Standard PC (i440FX + PIIX, 1996)"),
        ("net.ipv4.tcp_rmem", "4096\t131072\t6291456\n", 0, "4096 131072 6291456"),
    ],
)  # fmt: skip
def test_values(name: str, printed: str, code: int, value: str) -> None:
    assert facts_and_reasons([Section(name, printed, code)]) == ({name: value}, {})


@pytest.mark.parametrize(
    ("cpuinfo", "model"),
    [
        (text("proc/cpuinfo.x86_64-tcg"), "QEMU Virtual CPU version 2.5+"),
        (
            "vendor_id       : IBM/S390\n# processors    : 2\n"
            "processor 0: version = 00,  identification = 000000,  machine = 8561\n",
            "IBM/S390 machine 8561",
        ),
        (
            "processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x3\n"
            "CPU part\t: 0xd0c\nCPU revision\t: 1\n",
            "implementer 0x41 part 0xd0c",
        ),
        ("processor\t: 0\ncpu\t\t: POWER9 (architected), altivec supported\n",
         "POWER9 (architected), altivec supported"),
        ("", ""),
    ],
)  # fmt: skip
def test_cpu_models(cpuinfo: str, model: str) -> None:
    """Only the first is recorded; the others are of the form of arch/*/kernel (show_cpuinfo)."""
    assert cpu_model(cpuinfo) == {"cpu": model}


def test_this_machine_in_one_round_trip() -> None:
    with Here("local") as here:
        found = setup_of(here, "127.0.0.1")
        assert len(here.commands) == 1
    assert found.endpoint == "local"
    assert found.facts["kernel"] == platform.release()
    assert found.facts["cpus"] == str(os.cpu_count())
    assert found.facts["python3"].startswith("3.")
    assert found.facts["net.ipv4.tcp_congestion_control"]
    assert found.facts["nic"] == "lo"
    assert found.facts["nic.mtu"] == Path("/sys/class/net/lo/mtu").read_text().strip()
    assert not found.facts.keys() & found.unknown.keys()


def test_a_nic_that_nobody_asked_for_is_not_missed() -> None:
    with Here() as here:
        found = setup_of(here)
    assert not any(name.startswith("nic") for name in (*found.facts, *found.unknown))


@pytest.mark.parametrize("address", ["192.0.2.77", "$(id)", "-h", "lo; id"])
def test_an_address_that_no_nic_has(address: str) -> None:
    with Here() as here:
        found = setup_of(here, address)
    assert found.unknown["nic"] == f"no interface there has {address}, or leads to it"


def test_a_lost_endpoint() -> None:
    found = setup_of(Gone())
    assert (found.facts, found.unknown) == ({}, {"all": "ssh://web01 cannot be reached: sh 15.0 0"})


def test_the_hypervisor_of_a_real_qemu() -> None:
    domain = str(uuid.uuid4())
    with Here() as here, running_qemu("-uuid", domain, "-S"):
        found = host_setup_of(here, wait_for(here, domain))
    assert found.facts["kernel"] == platform.release()
    assert found.facts["qemu"].split(".")[0].isdecimal()
    assert not found.facts.keys() & found.unknown.keys()


def test_a_hypervisor_on_which_the_guest_is_not_found() -> None:
    with Here() as here:
        found = host_setup_of(here, None)
    assert found.facts["kernel"] == platform.release()
    assert found.unknown["qemu"] == "the QEMU of that domain was not found"


# What ethtool prints, of three versions.


every_version = pytest.mark.parametrize("version", ["5.9", "6.1", "6.14"])
RECORDED = sorted(
    path.relative_to(DATA).as_posix()
    for path in DATA.glob("ethtool/*/*.[klgc].txt")
    if path.parts[-2] != "json"
)


def found(version: str, nic: str, option: str) -> dict[str, str]:
    return ethtool_values(option, text(f"ethtool/{version}/{nic}.{option}.txt"))


@every_version
def test_virtio_net(version: str) -> None:
    assert found(version, "virtio_net", "l") == {"nic.channels.combined": "1"}
    assert found(version, "virtio_net", "g") == {"nic.rings.rx": "256", "nic.rings.tx": "256"}
    assert found(version, "virtio_net", "c") == {
        "nic.coalescing.adaptive-rx": "off",
        "nic.coalescing.rx-usecs": "0",
        "nic.coalescing.rx-frames": "1",
        "nic.coalescing.tx-usecs": "0",
        "nic.coalescing.tx-frames": "1",
    }
    offloads = found(version, "virtio_net", "k")
    assert offloads["nic.offload.rx-checksumming"] == "on [fixed]"
    assert offloads["nic.offload.generic-receive-offload"] == "on"
    assert offloads["nic.offload.generic-segmentation-offload"] == "off [requested on]"


@every_version
def test_present_sizes_not_the_highest(version: str) -> None:
    assert found(version, "e1000", "g")["nic.rings.rx"] == "256"
    assert found(version, "8139cp", "g")["nic.rings.tx"] == "64"
    channels = found(version, "veth", "l")
    assert channels["nic.channels.rx"] == channels["nic.channels.tx"] == "1"


@every_version
@pytest.mark.parametrize("option", ["l", "g", "c"])
def test_what_lo_does_not_have_is_nothing(version: str, option: str) -> None:
    assert found(version, "lo", option) == {}


@pytest.mark.parametrize("name", RECORDED)
def test_cut_anywhere_no_number_is_another(name: str) -> None:
    whole, option = text(name), name.split(".")[-2]
    right = ethtool_values(option, whole).items()
    for length in range(len(whole)):
        assert ethtool_values(option, whole[:length]).items() <= right


def test_json_is_not_for_every_version() -> None:
    """Why the text is read."""
    assert text("ethtool/json/5.9.virtio_net.g.txt").startswith("Ring parameters")
    assert text("ethtool/json/6.1.virtio_net.g.txt").startswith("ethtool: bad command line")
    assert text("ethtool/json/6.14.virtio_net.g.txt").startswith("[ {")
    assert text("ethtool/json/6.14.virtio_net.l.txt").startswith("ethtool: bad command line")


# The interface behind an address: from what was recorded, and from anything else.


ADDR = (Path(__file__).parent / "data" / "ip" / "addr.json").read_text("utf-8")
ETH0 = FoundNic("eth0", "52:54:00:12:34:56", 9000)


@pytest.mark.parametrize("address", ["192.0.2.1", "2001:db8::1"])
def test_the_one_that_has_the_address(address: str) -> None:
    assert nic_in(ADDR, address) == ETH0


def test_no_address_of_it_no_interface() -> None:
    assert nic_in(ADDR, "192.0.2.9") is None


def test_an_address_that_two_have_is_of_neither() -> None:
    twice = json.loads(ADDR)
    assert nic_in(json.dumps([*twice, twice[-1]]), "192.0.2.1") is None


def test_the_whole_answer_counts() -> None:
    """Cut off anywhere, it tells nothing: no MTU of which a digit is missing."""
    text = ADDR.rstrip("\n")
    assert nic_in(text, "192.0.2.1") == ETH0
    for end in range(len(text)):
        assert nic_in(text[:end], "192.0.2.1") is None


@pytest.mark.parametrize("mtu", [0, -1, 65537, 2**40])
def test_an_mtu_that_none_has_is_not_said(mtu: int) -> None:
    found = json.loads(ADDR)
    found[-1]["mtu"] = mtu
    assert nic_in(json.dumps(found), "192.0.2.1") == ETH0._replace(mtu=None)


def test_too_long_an_answer_is_none() -> None:
    assert nic_in("[" + " " * (8 * 2**20) + ADDR[1:], "192.0.2.1") is None


def test_it_is_asked_for_as_iproute2_knows_it() -> None:
    end = Saying("ssh://web01", lambda _argv: (0, ADDR))
    assert nic_with(end, "192.0.2.1") == ETH0
    assert end.commands == [("ip", "-j", "addr", "show")]


@pytest.mark.parametrize("code", [1, 127, None])
def test_a_program_that_fails_tells_nothing(code: int | None) -> None:
    assert nic_with(Saying("ssh://web01", lambda _argv: (code, ADDR)), "192.0.2.1") is None


def test_an_end_that_is_lost_tells_nothing() -> None:
    class Lost(Saying):
        def run(self, argv: Sequence[str], *, seconds: float = 30.0, stdin: bytes = b"") -> Ran:
            raise EndpointError(f"{self.url}: {argv} {seconds} {stdin!r}")

    assert nic_with(Lost("ssh://web01", lambda _argv: (0, ADDR)), "192.0.2.1") is None


# What of a link changed beside what is measured.


WAS = {
    "kernel": "6.1", "nic": "eth0", "nic.driver": "8139cp", "nic.mtu": "1500",
    "nic.speed": "100", "nic.offload.generic-receive-offload": "on", "nic.numa_node": "0",
}  # fmt: skip


def changes(changed_here: bool, **facts: str) -> tuple[str, ...]:
    later = WAS | {name.replace("__", "."): value for name, value in facts.items()}
    return link_changes(Setup("a", WAS), Setup("a", later), changed_here=changed_here)


@pytest.mark.parametrize("changed_here", [True, False])
def test_the_same(changed_here: bool) -> None:
    assert changes(changed_here) == ()
    assert changes(changed_here, kernel="6.2", nic__numa_node="1", nic__rings__rx="1") == ()


def test_a_new_model_at_the_target_is_the_change_itself() -> None:
    new = {"nic": "eth1", "nic__driver": "virtio_net", "nic__speed": "-1"}
    assert changes(True, **new) == ()
    assert changes(True, **new, nic__mtu="1450") == ("nic.mtu changed from 1500 to 1450",)


@pytest.mark.parametrize("changed_here", [True, False])
def test_a_setting_of_the_same_driver(changed_here: bool) -> None:
    later = {"nic.offload.generic-receive-offload": "off", "nic.speed": "10"}
    found = link_changes(Setup("a", WAS), Setup("a", WAS | later), changed_here=changed_here)
    assert found == (
        "nic.offload.generic-receive-offload changed from on to off",
        "nic.speed changed from 100 to 10",
    )


def test_nothing_of_the_peer_is_meant_to_change() -> None:
    assert changes(False, nic__driver="e1000e", nic__speed="1000") == (
        "nic.driver changed from 8139cp to e1000e",
        "nic.speed changed from 100 to 1000",
    )


def test_what_only_one_look_knows_is_no_change() -> None:
    assert link_changes(Setup("a", WAS), Setup("a", {}), changed_here=False) == ()
