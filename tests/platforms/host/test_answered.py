"""The devices of a host, from its answer."""

import pytest

from vnicaudit.model.host import Host, Section
from vnicaudit.platforms.host.readings import SectionReadings
from vnicaudit.platforms.host.visiting.answered import host_in

NAMES = (
    "/proc/sys/kernel/hostname\0kvm1\n/proc/sys/kernel/osrelease\x006.1.0-9-amd64\n"
    "/proc/sys/kernel/arch\0x86_64\n"
)
MODULES = (
    "/lib/modules/6.1.0-9-amd64/modules.dep\0{}\n/lib/modules/6.1.0-9-amd64/modules.builtin\0\n"
)
LOADABLE = "kernel/drivers/vhost/vhost_net.ko: kernel/drivers/vhost/vhost.ko"
KVM = "/proc/cpuinfo\0flags\t\t: fpu vmx\n/dev/kvm\0{}\n"


def _host(texts: str, paths: str = "", *, whole: bool = True) -> Host:
    sections = [Section("device texts", NAMES + texts, 0), Section("device paths", paths, 0)]
    found = host_in(SectionReadings(sections), whole=whole)
    assert found is not None
    return found


def test_a_host_says_what_it_is() -> None:
    host = _host("")
    facts = host.declared
    assert (host.name, facts.arch, facts.kernel) == ("kvm1", "x86_64", "6.1.0-9-amd64")


THERE = "/dev/kvm\0\n/sys/module/kvm\0\n"


@pytest.mark.parametrize(
    ("texts", "paths", "whole", "found"),
    [
        (KVM.format("opens") + MODULES.format(LOADABLE), f"{THERE}/dev/vhost-net\0\n", True,
         (True, True)),
        (KVM.format("sh: 1: cannot create /dev/kvm: Permission denied"), THERE, True, (None, None)),
        (KVM.format("Operation not permitted"), THERE, True, (None, None)),
        (KVM.format("cannot open /dev/kvm: No such device"), THERE, True, (False, None)),
        (MODULES.format(""), "", True, (False, False)),
        (MODULES.format(""), "", False, (None, None)),  # a container may lack what its host has
        ("", "", True, (False, None)),
        ("/proc/config.gz\0# CONFIG_VHOST_NET is not set\n", "", True, (False, False)),
    ],
)  # fmt: skip
def test_kvm_and_vhost_net(
    texts: str, paths: str, whole: bool, found: tuple[bool | None, bool | None]
) -> None:
    facts = _host(texts, paths, whole=whole).declared
    assert (facts.kvm, facts.vhost_net) == found


def test_vdpa_devices_and_their_drivers() -> None:
    paths = (
        "/dev/vhost-vdpa-0\0\n"
        "/sys/bus/vdpa/devices/vdpa0\0../../../devices/pci0000:00/0000:00:01.0/vdpa0\n"
        "/sys/bus/vdpa/devices/vdpa0/driver\0../../bus/vdpa/drivers/vhost_vdpa\n"
        "/sys/bus/vdpa/devices/vdpa0/../subsystem\0../../../bus/pci\n"
        "/sys/bus/vdpa/devices/vdpa0/vhost-vdpa-0\0\n"
        "/sys/bus/vdpa/devices/vdpa1\0../../../devices/vdpa1\n"
    )
    facts = _host("", paths).declared
    assert facts.vdpa_drivers == (("vdpa0", "vhost_vdpa"), ("vdpa1", ""))
    assert facts.vhost_paths == (("/dev/vhost-vdpa-0", True),)


def test_an_answer_without_a_name_is_of_no_host() -> None:
    assert host_in(SectionReadings([]), whole=True) is None
