"""``agent://``: programs in a real guest, through its agent alone; and what becomes of them."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.adapters import open_endpoint
from tests.rig.domain_xml import MAC, Manners, Nic
from tests.rig.guests import Guest, GuestFactory
from tests.rig.process import wait_for
from vnicaudit.bench.contract import RequiredTool
from vnicaudit.bench.endpoints.addresses import address_of
from vnicaudit.bench.endpoints.opening import require_tools
from vnicaudit.bench.endpoints.session import EndpointSession
from vnicaudit.errors import EndpointError

pytestmark = pytest.mark.rig

ROOT = Path(__file__).parents[2]
PORT, ORPHANS_PORT = 5201, 5202
# a guest that is emulated beside others may be asked to renew it a few seconds late
LEASE = 20.0
LONG = 600
"""Seconds for what ends before, or is ended: they end a test that hangs."""


@pytest.fixture(scope="module")
def guest(x86_guest: GuestFactory) -> Iterator[Guest]:
    with x86_guest(Nic("virtio", mac=MAC)) as booted:
        booted.wait_for_dns()
        yield booted


@pytest.fixture(scope="module", autouse=True)
def orphan(guest: Guest) -> str:
    """The folder of a session whose process was killed: its lease ends while other tests run."""
    url = f"agent://{guest.name}"
    module = "tests.bench.endpoints.holder"
    command = [sys.executable, "-m", module, url, str(LEASE), str(ORPHANS_PORT)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None
            folder = holder.stdout.readline().strip()
            wait_for(lambda: listens(guest, ORPHANS_PORT), "the server listens")
            assert not gone(guest, folder)
        finally:
            holder.kill()
    return folder


@pytest.fixture
def session(guest: Guest) -> Iterator[EndpointSession]:
    with closing(open_endpoint(f"agent://{guest.name}")) as opened:
        yield opened
    wait_for(lambda: gone(guest, opened.folder), "nothing is left")


def gone(guest: Guest, folder: str) -> bool:
    """Whether neither the folder nor a process with its mark is left in the guest."""
    script = (
        'if [ -e "$1" ]; then echo folder; exit; fi; cat /proc/[0-9]*/environ 2>/dev/null'
        ' | tr "\\0" "\\n" | grep "^KEPT_BY_VNICAUDIT=$1:"; exit 0'
    )
    return guest.run(["sh", "-c", script, "sh", folder]).output() == ""


def listens(guest: Guest, port: int) -> bool:
    """Whether a TCP socket listens on that port in the guest."""
    table = guest.run(["sh", "-c", "cat /proc/net/tcp /proc/net/tcp6"]).output()
    lines = [line.split() for line in table.splitlines()]
    return any(line[3] == "0A" and line[1].endswith(f":{port:04X}") for line in lines)


def test_programs_run_in_the_guest(guest: Guest, session: EndpointSession) -> None:
    assert session.run(["uname", "-r"]).stdout == guest.run(["uname", "-r"]).output()
    ran = session.run(["sh", "-c", "cat; echo err >&2; exit 3"], stdin=b"given")
    assert (ran.code, ran.stdout, ran.stderr) == (3, "given", "err\n")
    words = ["", "a b", "$HOME", "`id`", "'", '"', "\\n", "*", "%s", "ä\nb", ";reboot"]
    assert session.run(["printf", "<%s>", *words]).stdout == "".join(f"<{w}>" for w in words)
    assert session.run(["no-such-program"]).code == 127
    assert session.run(["sleep", "60"], seconds=1).code is None


def test_much_is_read_and_written(session: EndpointSession) -> None:
    """More than one answer of an agent may hold."""
    data = bytes(range(256)) * 2000
    path = session.put_file("data", data)
    said = session.run(["sh", "-c", f"for n in 1 2 3 4 5; do base64 {path}; done"], seconds=LONG)
    assert said.code == 0
    assert len(said.stdout) > 3 * 2**20
    assert said.stdout == said.stdout[: len(said.stdout) // 5] * 5


def test_a_server_listens_until_it_is_stopped(guest: Guest, session: EndpointSession) -> None:
    server = session.start(["iperf3", "-s", "-p", str(PORT)], seconds=LONG)
    wait_for(lambda: listens(guest, PORT), "the server listens")
    client = ["iperf3", "-c", str(guest.address), "-p", str(PORT), "-n", "1M"]
    subprocess.run(client, check=True, capture_output=True, timeout=LONG)
    assert server.running(), server.stop()
    ran = server.stop()
    assert ran.code is None
    assert "Accepted connection from" in ran.stdout
    assert not listens(guest, PORT)


def test_closing_ends_what_runs(guest: Guest) -> None:
    with closing(open_endpoint(f"agent://{guest.name}")) as session:
        session.start(["iperf3", "-s", "-p", str(PORT)], seconds=LONG)
        session.start(["sh", "-c", "trap '' TERM; while :; do sleep 1; done"], seconds=LONG)
        wait_for(lambda: listens(guest, PORT), "the server listens")
    wait_for(lambda: gone(guest, session.folder), "nothing is left")
    assert not listens(guest, PORT)


def test_a_missing_program_is_named_with_its_package(
    guest: Guest, session: EndpointSession
) -> None:
    tools = [RequiredTool("iperf3", {"apt": "iperf3"}), RequiredTool("dnsperf", {"apt": "dnsperf"})]
    with pytest.raises(EndpointError) as error:
        require_tools(session, tools)
    assert str(error.value) == (
        f"agent://{guest.name} has no dnsperf: install the package dnsperf"
        " (apt-get install dnsperf)"
    )


def test_the_guests_address_is_found(guest: Guest, session: EndpointSession) -> None:
    with closing(open_endpoint("local")) as here:
        assert address_of(session, here, None, None) == str(guest.address)
        assert address_of(session, here, None, MAC) == str(guest.address)


def test_its_agent_lists_its_interfaces(guest: Guest, session: EndpointSession) -> None:
    listed = session.interfaces()
    assert listed is not None
    (nic,) = [one for one in listed if one.mac == MAC]
    assert f"{guest.address}/24" in nic.addresses


def test_a_domain_is_found_by_its_uuid(guest: Guest) -> None:
    url = f"agent://{guest.domain.UUIDString()}"
    with closing(open_endpoint(url)) as session:
        assert session.run(["echo", "there"]).stdout == "there\n"


def test_a_guest_without_agent_says_what_to_do(x86_guest: GuestFactory) -> None:
    with x86_guest(Nic("virtio"), manners=Manners(agent=False), boot=False) as mute:
        mute.start()
        url = f"agent://{mute.name}"
        with pytest.raises(EndpointError) as error:
            open_endpoint(url)
    assert str(error.value).startswith(f"{url}: cannot ask the guest's agent (guest-ping): ")
    assert "install and start qemu-guest-agent in the guest" in str(error.value)


def test_a_domain_that_is_off_says_so(x86_guest: GuestFactory) -> None:
    with x86_guest(Nic("virtio"), boot=False) as off:
        with pytest.raises(EndpointError) as error:
            open_endpoint(f"agent://{off.name}")
        assert str(error.value) == f"agent://{off.name}: the domain is off: start it"


def test_a_killed_process_leaves_nothing(guest: Guest, orphan: str) -> None:
    """The supervisor in the guest ends it all when the lease is over. The last test here: that is
    so by now."""
    wait_for(lambda: gone(guest, orphan), "nothing is left")
    assert not listens(guest, ORPHANS_PORT)
