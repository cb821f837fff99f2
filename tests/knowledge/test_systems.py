"""Which operating system a guest runs."""

import msgspec
import pytest

from tests.remedy.planning.guests import PC, guest
from tests.rows import rows
from vnicaudit.knowledge.systems import NEWEST, System, system_of

BY_AGENT = {
    "debian 12": System("linux", "debian", (12, 0)),
    "ubuntu 22.04": System("linux", "ubuntu", (22, 4)),
    "rhel 7.9": System("linux", "rhel", (7, 9)),
    "centos 7": System("linux", "centos", (7, 0)),
    "arch": System("linux", "archlinux", NEWEST),
    "alpine 3.20.1": System("linux", "alpinelinux", (3, 20)),
    "opensuse-leap 15.6": System("linux", "opensuse", (15, 6)),
    "debian": System("linux", "debian", None),
    "mswindows 2019": System("windows", "win"),
    "mswindows 10": System("windows", "win"),
    "freebsd 14.1": System("freebsd", "freebsd"),
    "vnicaudit-rig 1": System(),
    "debian 99999999999999999999": System("linux", "debian", None),
}
"""``guest-get-osinfo``: id and version-id."""

BY_METADATA = {
    "http://ubuntu.com/ubuntu/22.04": System("linux", "ubuntu", (22, 4)),
    "http://debian.org/debian/testing": System("linux", "debian", NEWEST),
    "http://redhat.com/rhel/7-unknown": System("linux", "rhel", (7, 0)),
    "http://redhat.com/rhel/8.10": System("linux", "rhel", (8, 10)),
    "http://fedoraproject.org/fedora/rawhide": System("linux", "fedora", NEWEST),
    "http://archlinux.org/archlinux/rolling": System("linux", "archlinux", NEWEST),
    "http://libosinfo.org/linux/2022": System("linux", "linux", None),
    "http://microsoft.com/win/2k22": System("windows", "win"),
    "http://microsoft.com/win/7": System("windows", "win", old_windows=True),
    "http://microsoft.com/win/2k8r2": System("windows", "win", old_windows=True),
    "http://freebsd.org/freebsd/13.2": System("freebsd", "freebsd"),
    "http://openbsd.org/openbsd/7.4": System("openbsd", "openbsd"),
    "http://netbsd.org/netbsd/9.4": System("netbsd", "netbsd"),
    "http://libosinfo.org/unknown": System(),
    "http://haiku-os.org/haiku/nightly": System(),
    "debian": System(),
    "": System(),
}


@pytest.mark.parametrize(("said", "expected"), BY_AGENT.items(), ids=BY_AGENT)
def test_what_the_agent_says(said: str, expected: System) -> None:
    assert system_of(guest(PC, os=said)) == expected


@pytest.mark.parametrize(("os_id", "expected"), BY_METADATA.items(), ids=BY_METADATA)
def test_what_the_definition_says(os_id: str, expected: System) -> None:
    assert system_of(guest(msgspec.structs.replace(PC, os_id=os_id))) == expected


def test_the_agent_knows_better_than_the_definition() -> None:
    declared = msgspec.structs.replace(PC, os_id="http://microsoft.com/win/10")
    assert system_of(guest(declared, os="debian 12")).family == "linux"


@rows
def test_names_of_interfaces_give_linux_away(interface: str | None, family: str | None) -> None:
    assert system_of(guest(PC), interface) == System(family)


def test_a_known_system_is_not_guessed_again() -> None:
    assert system_of(guest(PC, os="mswindows 10"), "eth0").family == "windows"
