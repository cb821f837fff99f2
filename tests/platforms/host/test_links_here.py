"""Links of a real kernel with planted faults, in a network namespace with a real QEMU."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command import vnicaudit
from tests.not_run import not_run
from vnicaudit.model.fleet import LiveDomain, LiveOptions
from vnicaudit.model.host_facts import Feature, HostFacts
from vnicaudit.platforms.host.facts.links import links_in
from vnicaudit.platforms.host.visiting.visit import read_visit

_LINKS = (
    "link add br0 type bridge", "tuntap add tap9 mode tap", "link add veth0 type veth peer veth1",
    "addr add 192.0.2.1/24 dev veth1", "link add vx7 type vxlan id 7 remote 192.0.2.7 dstport 4789",
    "link set vx7 mtu 1500", "link add vx8 type vxlan external dstport 4790",
    "link add macvtap0 link veth1 type macvtap mode vepa", "link set tap9 master br0",
    "link set vx7 master br0", "link set br0 up", "link set tap9 up txqueuelen 100",
    "link set veth0 up", "link set veth1 up", "link set vx7 up", "link set br0 alias RX:",
)  # fmt: skip
_FLOOD = """
import socket
packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
packets.bind(("br0", 0))
for _ in range(1500):
    packets.send(b"\\xff" * 6 + b"\\x02\\0\\0\\0\\0\\x01" + b"\\x88\\xb5" + bytes(50))
"""


@pytest.fixture
def namespace() -> Iterator[str]:
    if os.getuid() != 0 or shutil.which("ip") is None:
        not_run("tests", "network namespaces need root and iproute2")
    name = f"vnl{os.getpid()}"
    try:
        subprocess.run(["ip", "netns", "add", name], check=True)
        for words in _LINKS:
            subprocess.run(["ip", "-n", name, *words.split()], check=True)
        yield name
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)


def test_json_and_text_of_this_kernel_give_equal_links(namespace: str) -> None:
    def printed(*options: str) -> str:
        command = ["ip", "-n", namespace, *options, "-d", "-s", "-s", "link", "show"]
        # nothing is counted while both are printed: the links are down
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    for name in ("veth0", "veth1", "br0", "tap9", "vx7"):
        subprocess.run(["ip", "-n", namespace, "link", "set", name, "down"], check=True)
    found = links_in(printed("-j"))
    assert found is not None
    assert links_in(printed()) == found
    links = {link.name: link for link in found}
    assert {name: link.kind for name, link in links.items()} == {
        "lo": "", "br0": "bridge", "tap9": "tun", "veth0": "veth", "veth1": "veth", "vx7": "vxlan",
        "vx8": "vxlan", "macvtap0": "macvtap",
    }  # fmt: skip
    assert links["macvtap0"].lower == "veth1"


def test_planted_faults_of_links_are_found(namespace: str) -> None:
    program = shutil.which("qemu-system-x86_64")
    if program is None:
        not_run("tests", "qemu-system-x86_64 is not installed")
    words = (
        "-machine q35 -nodefaults -display none -S -name guest=web "
        "-netdev tap,id=n0,ifname=tap9,script=no,downscript=no "
        "-device virtio-net-pci,netdev=n0,id=net0,host_mtu=9000,mac=52:54:00:00:00:01"
    )
    netns = ("ip", "netns", "exec", namespace)
    url = f"netns://{namespace}"
    with subprocess.Popen([*netns, program, *words.split()]) as qemu:
        try:
            while not _has_tap(url):
                assert qemu.poll() is None
            subprocess.run([*netns, sys.executable, "-c", _FLOOD], check=True)
            done = vnicaudit("audit", url, "--format", "json", "--level", "info", "--window", "0")
        finally:
            qemu.kill()
    found = {
        (finding["rule"], finding["location"]["xpath"])
        for finding in json.loads(done.stdout)["findings"]
        if finding["location"]["xpath"] and finding["location"]["xpath"].startswith("link/")
    }
    assert found == {
        ("VNIC048", "link/tap9"),
        ("VNIC048", "link/vx7"),
        ("VNIC101", "link/vx7"),
        ("VNIC116", "link/tap9"),
        ("VNIC117", "link/tap9"),
    }


def test_an_ethtool_without_wildcards_is_asked_for_each_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "ethtool"
    program.write_text(
        "#!/bin/sh\n"
        "[ \"$2\" != '*' ] || { echo 'Cannot get device settings: No such device'; exit 75; }\n"
        '[ "$1" != -k ] || printf \'Features for %s:\\nscatter-gather: off [fixed]\\n\' "$2"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    facts = next(
        each for each in read_visit("local", LiveOptions(window=0)) if isinstance(each, HostFacts)
    )
    link = facts.link("lo")
    assert link is not None
    assert link.feature("scatter-gather") == Feature(on=False, fixed=True)


def _has_tap(url: str) -> bool:
    """True if QEMU has opened its tap."""
    guests = [
        each for each in read_visit(url, LiveOptions(window=0)) if isinstance(each, LiveDomain)
    ]
    return bool(guests and guests[0].domain.nics[0].target_dev)
