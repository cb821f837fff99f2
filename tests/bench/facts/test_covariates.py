"""What is read around a run: how often, and what becomes of what cannot be read."""

import pathlib
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence

import pytest

from tests.adapters import ADAPTERS
from tests.bench.engines.here import Here
from tests.bench.facts.test_qemu_cpu import running_qemu, wait_for
from vnicaudit.bench.contract import Endpoint, Ends, Measured, StartedProgram
from vnicaudit.bench.facts.covariates import Watch
from vnicaudit.bench.facts.cpu import BootTime, CpuReading, Ticks
from vnicaudit.bench.facts.guest_process import GuestHost
from vnicaudit.bench.facts.path_check import EndReading
from vnicaudit.errors import ActionError, EndpointError
from vnicaudit.model.measurement import Covariates, CpuUse, Path, Ran

PATH = Path(name="p", target="local", peer="local", address="127.0.0.1")


class Guest:
    """A domain whose first vCPU waits a second between any two questions."""

    def __init__(self) -> None:
        self.asked = 0

    def vcpu_delays(self) -> tuple[int | None, ...]:
        self.asked += 1
        return (self.asked * 10**9, None)


class Mute:
    def vcpu_delays(self) -> tuple[int | None, ...]:
        raise ActionError("libvirt did not answer")


class Gone:
    """An endpoint whose connection was lost."""

    url = "ssh://web01"

    def run(self, argv: Sequence[str], *, seconds: float = 30.0, stdin: bytes = b"") -> Ran:
        raise EndpointError(f"{self.url} cannot be reached: {argv[0]} {seconds} {len(stdin)}")

    def start(self, argv: Sequence[str], *, seconds: float) -> StartedProgram:
        raise EndpointError(f"{self.url} cannot be reached: {argv[0]} {seconds}")

    def put_file(self, name: str, data: bytes) -> str:
        raise EndpointError(f"{self.url} cannot be reached: {name} {len(data)}")

    def close(self) -> None:
        pass


def tick() -> None:
    """Wait until the clock has gone on: /proc/uptime counts hundredths of a second, and between two
    readings in the same one there was no time."""
    clock = pathlib.Path("/proc/uptime")
    before = clock.read_text().split()[0]
    while clock.read_text().split()[0] == before:
        pass


def ends(target: Endpoint, peer: Endpoint) -> Ends:
    return Ends(target, peer, "127.0.0.1")


def test_one_round_trip_to_each_end_before_and_after() -> None:
    with Here() as target, Here() as peer:
        watch = Watch(ends(target, peer), PATH, None, None)
        watch.begin()
        assert (len(target.commands), len(peer.commands)) == (1, 1)
        tick()
        found = watch.end(Measured(seconds=1.0, generator_limited=True))
        assert (len(target.commands), len(peer.commands)) == (2, 2)
    assert found.target_steal is not None
    assert found.peer_steal is not None
    assert 0 <= found.target_steal <= 100
    assert found.throttled is not None
    assert (found.generator_limited, found.seconds) == (True, 1.0)
    assert (found.cpu.target, found.cpu.peer) == (None, None)  # both ends are this machine
    assert found.cpu.shared is not None
    assert found.cpu.target_parts.group is None


def test_what_a_lost_end_says_is_not_known_and_no_error() -> None:
    with Here() as here:
        watch = Watch(ends(Gone(), here), PATH, GuestHost(Gone(), ADAPTERS.command_line), Mute())
        began = time.monotonic()
        watch.begin()
        loop = "import time\nwhile time.process_time() < 0.5: pass"
        subprocess.run([sys.executable, "-S", "-c", loop], check=True)
        took = time.monotonic() - began  # longer where others use the CPUs too
        found = watch.end(Measured(seconds=took), 0.0)
    assert found.target_steal is None
    assert found.peer_steal is not None
    assert found.vcpu_delay is None
    assert found.cpu.target is None
    assert found.cpu.peer is not None
    assert found.cpu.peer >= 0.9 * 0.5e6


def test_how_long_the_load_was_in_fact_is_the_engines_to_say() -> None:
    spent = {"target": [0, 1400], "peer": [0, 700]}

    def read(end: Endpoint, _which: object, _address: object) -> EndReading:
        user = spent[end.url].pop(0)
        clock = BootTime(15.0 if user else 0.0, 100, f"boot of {end.url}")
        return EndReading(CpuReading(clock, Ticks(user, *[0] * 7), {}), None)

    with Here("target") as target, Here("peer") as peer:
        watch = Watch(ends(target, peer), PATH, None, None, read)
        watch.begin()
        found = watch.end(Measured(seconds=10.0, load_seconds=14.0), 2.0)
    assert found.cpu.target == pytest.approx(10e6)
    assert found.cpu.peer == pytest.approx(5e6)


def test_vcpus_that_waited() -> None:
    guest = Guest()
    watch = Watch(ends(Gone(), Gone()), PATH, None, guest)
    watch.begin()
    found = watch.end(Measured(seconds=1.0))
    assert guest.asked == 2
    assert found.vcpu_delay == 100.0  # a second, of less than one


def test_nothing_was_begun() -> None:
    with Here() as here:
        watch = Watch(ends(here, here), PATH, None, None)
        assert watch.end(Measured(seconds=2.0)) == Covariates(seconds=2.0)


def test_the_guests_qemu_is_found_once_and_again_when_it_is_another() -> None:
    domain = str(uuid.uuid4())
    path = Path(name="p", target="agent://x", peer="local", address="192.0.2.1", domain=domain)
    with Here() as host:
        watch = Watch(ends(Gone(), Gone()), path, GuestHost(host, ADAPTERS.command_line), None)
        with running_qemu("-uuid", domain):
            wait_for(host, domain)
            host.commands.clear()
            watch.begin()
            assert len(host.commands) == 2  # where is it, what has it used
            tick()
            first = watch.end(Measured(seconds=0.1), 60.0)
            watch.begin()
            watch.end(Measured(seconds=0.1), 60.0)
            assert len(host.commands) == 5
        assert first.cpu.host is not None
        with running_qemu("-uuid", domain):
            wait_for(host, domain)
            watch.begin()
            tick()
            found = watch.end(Measured(seconds=0.1), 60.0)
        assert found.cpu.host is not None


def test_a_guest_that_was_power_cycled_in_the_run_tells_nothing() -> None:
    domain = str(uuid.uuid4())
    path = Path(name="p", target="agent://x", peer="local", address="192.0.2.1", domain=domain)
    with Here() as host:
        watch = Watch(ends(Gone(), Gone()), path, GuestHost(host, ADAPTERS.command_line), None)
        with running_qemu("-uuid", domain):
            wait_for(host, domain)
            watch.begin()
        with running_qemu("-uuid", domain):
            wait_for(host, domain)
            assert watch.end(Measured(seconds=0.1), 60.0).cpu == CpuUse()


@pytest.mark.parametrize("domain", [None, "no-such-domain-anywhere"])
def test_a_guest_that_is_not_found_has_no_cpu_time(domain: str | None) -> None:
    path = Path(name="p", target="local", peer="local", address="192.0.2.1", domain=domain)
    with Here() as host:
        watch = Watch(ends(Gone(), Gone()), path, GuestHost(host, ADAPTERS.command_line), None)
        watch.begin()
        assert watch.end(Measured(seconds=1.0)).cpu == CpuUse()
