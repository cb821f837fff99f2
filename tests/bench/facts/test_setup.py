"""The environment: what is found, and why the rest is not."""

import os
import platform
import uuid
from pathlib import Path

import pytest

from tests.bench.engines.here import Here
from tests.bench.facts.recorded import text
from tests.bench.facts.test_covariates import Gone
from tests.bench.facts.test_qemu_cpu import running_qemu, wait_for
from vnicaudit.bench.facts.setup import (
    cpu_model,
    facts_and_reasons,
    host_setup_of,
    setup_of,
)
from vnicaudit.model.host import Section

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
