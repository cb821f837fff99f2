"""The new NIC is measured beside the old one, in a running guest that goes on serving."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_interface

import pytest

from tests.rig import bench
from tests.rig.dns import DnsProbe
from tests.rig.domain_xml import MAC, Nic
from tests.rig.guests import Guest, GuestFactory
from tests.rig.process import wait_for
from tests.rig.remedy import Remedy, definition, remedy
from tests.rig.test_bench import shown, throttled

pytestmark = [pytest.mark.rig, pytest.mark.alone, pytest.mark.long]

__all__ = ["remedy"]

_HEAD = 'guards = ["counters"]\n' + bench.ONE_RUN


def network(guest: Guest) -> dict[str, str]:
    """All that a shadow NIC touches."""
    device = guest.device(MAC)
    commands = {
        "rules": ["ip", "rule"],
        "routes": ["ip", "-4", "route", "show", "table", "all"],
        "addresses": ["ip", "-4", "-br", "addr"],
        "arp": ["cat", f"/proc/sys/net/ipv4/conf/{device}/arp_filter"],
    }
    return {name: guest.run(argv).output() for name, argv in commands.items()}


def macs(guest: Guest) -> int:
    """How many NICs what runs has."""
    return guest.xml().count("<mac ")


def spare(guest: Guest) -> str:
    """An address that nobody has, with its length."""
    (own,) = map(ip_interface, guest.addresses(MAC))
    return f"{own.network.broadcast_address - 5}/{own.network.prefixlen}"


def killed_in_the_middle(guest: Guest, remedy: Remedy, words: list[str]) -> None:
    """Apply, ended by SIGKILL when the guest has a second address."""
    command = [sys.executable, "-m", "vnicaudit", "apply", *words, "--state", str(remedy.state)]
    log = remedy.folder / "killed.log"
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            wait_for(
                lambda: process.poll() is not None or "from" in changed_rules(guest), "a shadow"
            )
        finally:
            process.kill()
    assert macs(guest) == 2, log.read_text()


def changed_rules(guest: Guest) -> str:
    """Routing rules that are not the kernel's own."""
    lines = guest.run(["ip", "rule"]).output().splitlines()
    return "\n".join(line for line in lines if "from all" not in line)


@contextmanager
def while_it_has(guest: Guest, model: str, probe: DnsProbe) -> Iterator[list[float]]:
    """The longest gaps that were seen as long as what runs had a NIC of that model."""
    gaps = [0.0]
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.1):
            gap = probe.longest_gap
            if f"type='{model}'" not in guest.xml():
                return
            gaps.append(gap)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield gaps
    finally:
        done.set()
        thread.join()


def test_virtio_is_measured_beside_e1000_and_then_taken(
    x86_guest: GuestFactory, remedy: Remedy
) -> None:
    with x86_guest(Nic("e1000", mac=MAC), machine="pc") as guest:
        guest.wait_for_dns()
        before, had = definition(guest), network(guest)
        plan = remedy.plan(guest)
        profile = bench.profile(remedy.folder, bench.RX, head=_HEAD)
        words = ["--mode", "hotswap", "--bench", profile, "--bench-design", "shadow"]
        words += ["--shadow-address", spare(guest), "--guest-deadline", "240"]
        with (
            throttled(guest, "e1000"),
            guest.dns_probe() as probe,
            while_it_has(guest, "e1000", probe) as gaps,
        ):
            killed_in_the_middle(guest, remedy, [str(plan), "--yes", *words])
            assert definition(guest) == before
            said = remedy.apply(plan, *words)
            probe.wait_for_answer()
        assert "left by an earlier run" in said, said
        assert guest.driver(MAC) == "virtio_net"
        assert macs(guest) == 1
        assert network(guest) == had
        assert not list((remedy.state / "shadows").iterdir())
        # a busy machine silences an emulated guest for a second or two; a shadow in its way would
        # for as long as it is there, the time of the killed command included
        assert max(gaps) < 10, f"{said}\nsilent for {max(gaps):.1f} s before the cut-over"
        result = shown(remedy)
        assert result["run"]["design"] == "shadow"
        assert set(bench.verdicts(result).values()) == {"improved"}, said
        assert result["decision"]["done"] == "kept"
        assert bench.counted(result), result["samples"]
