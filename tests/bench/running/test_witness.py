"""What is seen of a path after a run that came to nothing, between real network namespaces."""

import shutil
import subprocess
from collections.abc import Iterator

import pytest

from tests.bench.two_links import TwoLinks, two_links
from tests.not_run import not_run
from vnicaudit.bench.contract import Measured, Transport
from vnicaudit.bench.facts.covariates import Watch
from vnicaudit.bench.running import collector
from vnicaudit.bench.running.collector import parse_neighbour, witness_of
from vnicaudit.bench.running.opening import OpenedArm
from vnicaudit.model.measurement import Path, Witness

ADDRESS = "192.0.2.1"
NOTHING = Measured(error="timed out", failure="silent")


@pytest.fixture
def links() -> Iterator[TwoLinks]:
    with two_links() as made:
        yield made


def path_of(links: TwoLinks, address: str = ADDRESS) -> OpenedArm:
    path = Path(name="p", target=links.target.url, peer=links.peer.url, address=address)
    ends = links.ends(address)
    return OpenedArm(path, ends, Watch(ends, path, None, None))


def test_a_path_that_is_there(links: TwoLinks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "_FRESH_SECONDS", 60)  # as old as that if the machine stalls
    opened = path_of(links)
    opened.watch.begin()
    links.peer.run(("ping", "-c", "1", ADDRESS))
    opened.watch.end(NOTHING)
    assert witness_of(opened) == Witness(True, "3 of 3 answered", arp=True, counted=True)


def test_a_firewall_drops_ping(links: TwoLinks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "_FRESH_SECONDS", 60)
    opened = path_of(links)
    words = ["sysctl", "-qw", "net.ipv4.icmp_echo_ignore_all=1"]
    subprocess.run(["ip", "netns", "exec", links.names[0], *words], check=True)
    assert witness_of(opened) == Witness(False, "0 of 3 answered", arp=True)


@pytest.mark.parametrize(
    ("transport", "drops", "carried"),
    [
        ("tcp", "", True),
        ("tcp", "-p tcp", False),
        ("tcp", "-p tcp -m length --length 1000:65535", False),
        ("tcp", "-p udp", True),
        ("udp", "-p tcp", True),
        ("udp", "-p udp", False),
    ],
)
def test_transports_are_asked_apart_from_ping(
    links: TwoLinks, transport: Transport, drops: str, *, carried: bool
) -> None:
    """A change that breaks TCP, or only its large segments, or UDP, leaves ping alone."""
    if drops:
        if shutil.which("iptables") is None:
            not_run("tests", "nothing can be dropped without iptables")
        rule = ["iptables", "-A", "INPUT", *drops.split(), "-j", "DROP"]
        subprocess.run(["ip", "netns", "exec", links.names[0], *rule], check=True)
    found = witness_of(path_of(links), transport=transport)
    assert found.answered
    seen = {"tcp": found.connected, "udp": found.echoed}
    assert seen == {"tcp": None, "udp": None, transport: carried}


def test_nobody_has_the_address(links: TwoLinks) -> None:
    links.at_target("link set eth0 arp off")
    assert witness_of(path_of(links)) == Witness(False, "0 of 3 answered", arp=False)


HEARD = "192.0.2.1 dev eth0 lladdr 02:fc:00:00:00:05  ref 1 used 1/0/1probes 4 REACHABLE \n"


@pytest.mark.parametrize(
    ("text", "resolved"),
    [
        (HEARD, True),
        (HEARD.replace("1/0/1", "19/6/19"), None),  # by now that may be another NIC
        ("192.0.2.1 dev eth0 lladdr 02:fc:00:00:00:05  used 297/299/272probes 1 STALE \n", None),
        ("192.0.2.1 dev eth0  used 300/30206/299probes 6 FAILED \n", False),
        ("192.0.2.1 dev eth0  ref 1 used 2/90/2probes 3 INCOMPLETE \n", False),
        (HEARD + HEARD.replace("eth0", "eth1"), None),
        (HEARD.replace("used 1/0/1", ""), None),
        ("", None),  # a router is between them
    ],
)
def test_the_neighbour_table_says(text: str, resolved: bool | None) -> None:
    assert parse_neighbour(text) is resolved
