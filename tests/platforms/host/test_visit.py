"""Visits to this machine, to a network namespace and over ssh, with the real programs."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.endpoints.private_sshd import private_sshd
from tests.not_run import not_run
from vnicaudit.errors import TargetError, UsageError
from vnicaudit.model.fleet import LiveDomain, LiveOptions
from vnicaudit.model.host import Host
from vnicaudit.model.host_facts import HostFacts
from vnicaudit.platforms.host.facts import EVERY_FACT
from vnicaudit.platforms.host.readings import script_for
from vnicaudit.platforms.host.visiting.answered import DEVICES
from vnicaudit.platforms.host.visiting.visit import place_of, probe, read_visit
from vnicaudit.text.targets import is_place

ONCE = LiveOptions(window=0)
_ARGUMENT_MAX = 100_000
"""Linux takes 128 KiB in one argument (MAX_ARG_STRLEN)."""


def test_the_script_fits_in_one_argument() -> None:
    assert len(script_for((*EVERY_FACT, DEVICES))) < _ARGUMENT_MAX


def test_this_machine_is_a_host() -> None:
    host, facts, *_guests = read_visit("local", ONCE)
    assert isinstance(host, Host)
    assert (host.name, host.declared.kernel) == (os.uname().nodename, os.uname().release)
    assert isinstance(facts, HostFacts)
    assert facts.window is None
    assert facts.cpus.online
    assert probe("local", ONCE) == f"{host.name}, Linux {host.declared.kernel}"


@pytest.fixture
def namespace() -> Iterator[str]:
    if os.getuid() != 0 or shutil.which("ip") is None:
        not_run("tests", "network namespaces need root and iproute2")
    name = f"vnh{os.getpid()}"
    commands = (
        "ip netns add {0}", "ip -n {0} link add br0 type bridge",
        "ip -n {0} tuntap add tap9 mode tap", "ip -n {0} link set tap9 master br0 mtu 1400",
    )  # fmt: skip
    try:
        for command in commands:
            subprocess.run(command.format(name).split(), check=True)
        yield name
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)


def test_a_guest_in_a_network_namespace_has_its_tap(namespace: str) -> None:
    program = shutil.which("qemu-system-x86_64")
    if program is None:
        not_run("tests", "qemu-system-x86_64 is not installed")
    words = (
        "-machine q35 -nodefaults -display none -S -name guest=web "
        "-netdev tap,id=n0,ifname=tap9,script=no,downscript=no "
        "-device virtio-net-pci,netdev=n0,id=net0,mac=52:54:00:00:00:01"
    )
    netns = ("ip", "netns", "exec", namespace)
    with subprocess.Popen([*netns, program, *words.split()]) as qemu:
        try:
            host, guest = _with_a_tap(f"netns://{namespace}", qemu)
        finally:
            qemu.kill()
    assert host.name == f"{os.uname().nodename}/{namespace}"
    assert (guest.domain.name, guest.domain.nics[0].target_dev) == ("web", "tap9")


def _with_a_tap(url: str, qemu: subprocess.Popen[bytes]) -> tuple[Host, LiveDomain]:
    """The host and its guest, once QEMU has opened its tap."""
    while qemu.poll() is None:
        host, _facts, *guests = read_visit(url, ONCE)
        if guests and isinstance(guests[0], LiveDomain) and guests[0].domain.nics[0].target_dev:
            assert isinstance(host, Host)
            return host, guests[0]
    pytest.fail(f"QEMU ended with code {qemu.returncode}")


def test_a_host_over_ssh(tmp_path: Path) -> None:
    with private_sshd(tmp_path) as sshd:
        host, facts, *_guests = read_visit(sshd.url(), ONCE)
        assert isinstance(host, Host)
        assert isinstance(facts, HostFacts)
        assert (host.name, facts.window) == (os.uname().nodename, None)
        (tmp_path / "known").write_text("")
        with pytest.raises(TargetError) as error:
            next(read_visit(sshd.url(), ONCE))
    assert error.value.failure == "authentication"
    assert error.value.message.startswith("ssh failed: ")
    assert "connect once by hand (ssh HOST) and check the key" in error.value.message


def test_a_namespace_that_is_not_there() -> None:
    with pytest.raises(TargetError) as error:
        next(read_visit("netns://no-such-namespace", ONCE))
    assert error.value.message.startswith("netns failed: ")


def test_a_place_that_does_not_answer_is_given_up() -> None:
    with pytest.raises(TargetError) as error:
        next(read_visit("local", LiveOptions(deadline=-2, window=0)))
    assert error.value.failure == "deadline"


@pytest.mark.parametrize(
    "name", ["local", "local://", "local?sudo=true", "netns://blue", "kvm1", "qemu:///system", "-"]
)
def test_names_of_places(name: str) -> None:
    assert is_place(name) is name.startswith(("local", "netns"))


def test_a_file_of_that_name_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "local").touch()
    assert (is_place("local"), is_place("local://")) == (False, True)


@pytest.mark.parametrize("name", ["ssh://", "ssh://u:secret@kvm1", "ssh://kvm1/x", "netns://a?b=c"])
def test_a_place_that_makes_no_sense_is_refused(name: str) -> None:
    with pytest.raises(UsageError) as error:
        place_of(name)
    assert "secret" not in str(error.value)
