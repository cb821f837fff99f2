"""Paths as they are given, and what their URLs tell."""

import pytest

from vnicaudit.bench.endpoints.opening import (
    PathOption,
    domain_of,
    hypervisor_of,
    machine_of,
    parse_path,
    parse_paths,
)
from vnicaudit.errors import UsageError

ENDPOINTS = "supported forms: agent://DOMAIN[?connect=LIBVIRT-URI], docker://[USER@]CONTAINER, "


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("local", ("", "local", "local")),
        ("agent://web01", ("", "agent://web01", "local")),
        ("agent://web01,ssh://root@gen1", ("", "agent://web01", "ssh://root@gen1")),
        ("vm=agent://web01,local", ("vm", "agent://web01", "local")),
        ("local=local,local", ("local", "local", "local")),
        ("a.b-c_1=netns://x", ("a.b-c_1", "netns://x", "local")),
        (
            "agent://web01?connect=qemu+ssh://root@kvm7/system,ssh://gen1?sudo=true",
            ("", "agent://web01?connect=qemu+ssh://root@kvm7/system", "ssh://gen1?sudo=true"),
        ),
        (
            "vm=agent://web01?address=192.0.2.1&connect=qemu:///session",
            ("vm", "agent://web01?address=192.0.2.1&connect=qemu:///session", "local"),
        ),
        ("x=agent://a%2Cb", ("x", "agent://a%2Cb", "local")),
        ("local?address=2001:db8::1", ("", "local?address=2001:db8::1", "local")),
    ],
)
def test_a_path(text: str, path: tuple[str, str, str]) -> None:
    assert parse_path(text) == PathOption(*path)


FORM = (
    " is not a path: expected [NAME=]TARGET[,PEER], as in agent://web01,local or "
    "vm=ssh://192.0.2.7,ssh://192.0.2.9; write a comma in a URL as %2C"
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "''" + FORM),
        ("local,", "'local,'" + FORM),
        (",local", "',local'" + FORM),
        ("local,local,local", "'local,local,local'" + FORM),
        ("web01", "invalid endpoint 'web01'; " + ENDPOINTS),
        ("a=web01", "invalid endpoint 'a=web01'; " + ENDPOINTS),
        ("local,gen1", "invalid endpoint 'gen1'; " + ENDPOINTS),
        ("vm=http://web01", "invalid endpoint 'http://web01'; " + ENDPOINTS),
        (
            "two words=local",
            "'two words' is not a name for a path: use letters, digits, _ . -, 40 at most",
        ),
        (
            "x" * 41 + "=local",
            f"'{'x' * 41}' is not a name for a path: use letters, digits, _ . -, 40 at most",
        ),
        ("=local", "'' is not a name for a path: use letters, digits, _ . -, 40 at most"),
        (
            "agent://web01?conect=x",
            "agent://web01?conect=x: agent:// has no option 'conect'; use address, connect",
        ),
        ("agent://\udcff", "'agent://\\udcff' is not a path: not UTF-8"),
    ],
)
def test_what_is_no_path(text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_path(text)
    assert str(error.value).startswith(message)


def test_names_are_those_of_the_targets() -> None:
    paths = parse_paths(
        ("local", "ssh://root@kvm7:22", "agent://web01?address=192.0.2.1", "vm=netns://x")
    )
    assert [path.name for path in paths] == ["local", "kvm7:22", "web01", "vm"]


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        (("local", "local,netns://x"), "local"),
        (("a=local", "a=netns://x"), "a"),
        (("web01=local", "agent://web01"), "web01"),
        (("ssh://a@kvm7", "ssh://b@kvm7"), "kvm7"),
    ],
)
def test_a_name_is_there_once(texts: tuple[str, ...], name: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_paths(texts)
    assert str(error.value) == f"two paths have the name {name!r}: name them, as in vm=…"


@pytest.mark.parametrize(
    ("connect", "hypervisor"),
    [
        ("", "local"),
        ("?connect=qemu:///system", "local"),
        ("?connect=qemu:///session", "local"),
        ("?connect=qemu+unix:///system?socket=/run/x", "local"),
        ("?connect=qemu+ssh://root@kvm7/system", "ssh://root@kvm7"),
        ("?connect=qemu%2Bssh://root@kvm7:2222/system", "ssh://root@kvm7:2222"),
        ("?connect=qemu+ssh://kvm7/system?keyfile=/root/k&address=192.0.2.1", "ssh://kvm7"),
        ("?connect=qemu+libssh2://kvm7/system", "ssh://kvm7"),
        ("?connect=qemu+ssh://[2001:db8::7]/system", "ssh://[2001:db8::7]"),
        ("?connect=qemu+tls://kvm7/system", None),
        ("?connect=qemu+tcp://kvm7/system", None),
        ("?connect=qemu://kvm7/system", None),
        ("?connect=test:///default", None),
        ("?connect=hail", None),
    ],
)
def test_the_hypervisor_of_a_guest(connect: str, hypervisor: str | None) -> None:
    assert hypervisor_of(f"agent://web01{connect}") == hypervisor


@pytest.mark.parametrize("url", ["local", "netns://x", "ssh://root@vm7", "docker://web"])
def test_others_have_none(url: str) -> None:
    assert hypervisor_of(url) is None
    assert domain_of(url) is None


def test_the_domain_of_a_guest() -> None:
    assert domain_of("agent://web01") == ("web01", "qemu:///system")
    url = "agent://web%2001?connect=qemu+ssh://root@kvm7/system"
    assert domain_of(url) == ("web 01", "qemu+ssh://root@kvm7/system")


@pytest.mark.parametrize(
    ("url", "machine"),
    [
        ("local", "local"),
        ("netns://x", "local"),
        ("agent://web01", "local"),
        ("ssh://root@KVM7:22?sudo=true", "kvm7"),
        ("agent://web01?connect=qemu+ssh://me@kvm7/system", "kvm7"),
        ("agent://web01?connect=qemu+tls://kvm7/system", None),
        ("docker://web", None),
        ("kubectl://web", None),
    ],
)
def test_the_machine(url: str, machine: str | None) -> None:
    assert machine_of(url) == machine


def test_the_machine_of_a_guest_whose_host_is_said() -> None:
    assert machine_of("agent://web01", "ssh://root@kvm7") == "kvm7"
    assert machine_of("agent://web01", "docker://kvm") is None
