"""An audit of a fleet compared with the arithmetic minimum, and with a user's shell loop.

    python -m benchmarks.fleet [--hosts 1000] [--domains 50] [--parallel 32] [--only PART]

Hosts are simulated: each is a file of libvirt's test driver with DOMAINS domains of two NICs, which
libvirt really parses and returns, in this process. The network, which the test driver lacks, is
simulated by a wait before each host: the time for reading a host with as many domains over TCP and
a proxy with that round-trip time (measured first, with a real libvirtd; or set by ``--wait``). So
threads, queues, judging, spool and reports are real; sockets are not.

* ``time``: ``vnicaudit audit -i`` of all hosts at a round-trip time of 50 ms. The arithmetic
  minimum for its concurrency is the larger of hosts x wait / parallel, and the CPU time of auditing
  the hosts one by one, since one thread judges them. Bars: wall time 1.3 times that, CPU time per
  domain 1.5 times that of auditing one host, peak memory 300 MB (of the whole process).
* ``failing``: a fifth of the hosts fail in six ways. The others must be complete, each failure must
  be explained, and the exit code must be 4.
* ``loop``: real hosts over TCP at a round-trip time of 20 ms, compared with a shell loop of ``virsh
  dumpxml`` (run for one host and multiplied, as it is sequential). Bar: 10 times faster.
* ``sizes`` (only on request): CPU time, peak memory and bytes of what comes after reading: reports,
  history, ranking, the page of ``fleet serve``, copies. ``docs/explanation/scale.md`` has them.

Each part runs in a process of its own. On a machine with other work, wall times are unreliable (the
load is printed); CPU times and their ratios are reliable.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, redirect_stdout
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace as with_fields

from benchmarks import delay_proxy
from tests.fleet.daemons import HostsDaemon, hosts_daemon
from vnicaudit.audit.accepting.suppressions import Suppressor
from vnicaudit.audit.judging.catalogue import rule_ids
from vnicaudit.audit.reading.machines import CALLS
from vnicaudit.audit.reading.selection import RunOptions
from vnicaudit.audit.run import AuditRun
from vnicaudit.audit.work import Assumptions, AuditWork
from vnicaudit.cli.main import run
from vnicaudit.cli.wiring import Wiring
from vnicaudit.cli.wiring.platforms import PLATFORMS, PlatformRegistry, every_platform
from vnicaudit.errors import TargetError
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.platforms.libvirt import read_host as libvirt_read

if TYPE_CHECKING:
    from vnicaudit.audit.reading.targets import HostItem

_WALL_BAR, _CPU_BAR, _MEMORY_BAR, _LOOP_BAR = 1.3, 1.5, 300, 10.0
_TRIP = 0.05
_FAILURES: tuple[tuple[str, str], ...] = (
    ("unreachable", "cannot connect: no route to host"),
    ("refused", "cannot connect: access denied"),
    ("authentication", "cannot connect: Permission denied (publickey)"),
    ("deadline", "no answer within 30 s"),
    ("broken", "client socket is closed"),
    ("internal", "unexpected failure"),
)
_MODELS = ("virtio", "e1000", "virtio", "rtl8139", "virtio", "virtio")
_DOMAIN = """\
<domain type='kvm'><name>{name}</name><uuid>{uuid:032x}</uuid><memory>65536</memory>
<vcpu>{vcpus}</vcpu><os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type></os><devices>
<disk type='file' device='disk'><source file='/{name}'/><target dev='vda' bus='virtio'/></disk>
{nics}</devices></domain>"""
_NIC = """\
<interface type='bridge'><mac address='{mac}'/><source bridge='br0'/><model type='{model}'/>
<driver name='vhost' queues='{queues}'/></interface>"""

Reader = Callable[[str, LiveOptions], "Iterator[HostItem]"]


def write_hosts(folder: Path, hosts: int, domains: int) -> list[str]:
    """Files of that many hosts, no two alike; their URIs."""
    draw = random.Random(15)
    uris = []
    for host in range(hosts):
        texts = []
        for number in range(domains):
            nics = "".join(
                _NIC.format(
                    mac=f"52:{host >> 16 & 255:02x}:{host >> 8 & 255:02x}:{host & 255:02x}"
                    f":{number:02x}:{nic:02x}",
                    model=draw.choice(_MODELS),
                    queues=draw.choice((1, 2, 4)),
                )
                for nic in range(2)
            )
            name = f"h{host}-d{number}"
            texts.append(
                _DOMAIN.format(
                    name=name, uuid=draw.getrandbits(128), vcpus=draw.choice((1, 2, 4)), nics=nics
                )
            )
        path = folder / f"h{host}.xml"
        path.write_text(f"<node>{''.join(texts)}</node>")
        uris.append(f"test://{path}")
    return uris


def waiting(seconds: float) -> Reader:
    """A reader that takes so long longer, as the network would."""

    def read(uri: str, live: LiveOptions) -> Iterator[HostItem]:
        time.sleep(seconds)
        return libvirt_read(uri, live)

    return read


def failing(seconds: float, share: int) -> Reader:
    """A reader for which one host of ``share`` fails, in six ways in turn."""
    ways = cycle(_FAILURES)
    kinds: dict[str, tuple[str, str]] = {}

    def read(uri: str, live: LiveOptions) -> Iterator[HostItem]:
        time.sleep(seconds)
        if int(uri.rpartition("h")[2].removesuffix(".xml")) % share:
            yield from libvirt_read(uri, live)
            return
        if uri not in kinds:
            kinds[uri] = next(ways)
        failure, text = kinds[uri]
        raise TargetError(text, file=uri, failure=failure)

    return read


def with_reader(read: Reader) -> Wiring:
    """Run vnicaudit with another reader for libvirt hosts."""
    platforms = [
        with_fields(
            one,
            targets=tuple(
                with_fields(kind, read=read) if kind.kind == "libvirt" else kind
                for kind in one.targets
            ),
        )
        for one in PLATFORMS
    ]
    registry = PlatformRegistry(platforms)
    return Wiring(platforms=lambda: registry)


def one_by_one(uris: list[str]) -> float:
    """CPU seconds of auditing one host after the other, separately and without reports."""
    ids = rule_ids()
    from datetime import date

    def audit(uri: str) -> None:
        work = AuditWork(
            ids, Assumptions(), Suppressor((), date.today(), ids), {}, every_platform()
        )
        for _product in AuditRun(work, RunOptions()).items([uri]):
            pass

    audit(uris[0])  # imports
    began = time.process_time()
    for uri in uris:
        audit(uri)
    return time.process_time() - began


def child(arguments: argparse.Namespace) -> None:
    """Run vnicaudit once, and print the measured figures as JSON."""
    read = failing(arguments.wait, 5) if arguments.child == "failing" else waiting(arguments.wait)
    words = [
        "audit",
        "-i",
        f"{arguments.folder}/uris",
        "--state",
        f"{arguments.folder}/state-{arguments.child}",
        "--format",
        "json",
        "--output",
        f"{arguments.folder}/{arguments.child}.json",
    ]
    os.environ |= {"VNICAUDIT_PARALLEL": str(arguments.parallel), "VNICAUDIT_RETRIES": "0"}
    wall, cpu = time.perf_counter(), time.process_time()
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
        code = run(words, with_reader(read))
    print(
        json.dumps(
            {
                "code": code,
                "wall": time.perf_counter() - wall,
                "cpu": time.process_time() - cpu,
                "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            }
        )
    )


def in_child(part: str, folder: Path, given: argparse.Namespace, wait: float) -> dict[str, float]:
    """Figures of a part run in a process of its own."""
    words = [
        sys.executable,
        "-m",
        "benchmarks.fleet",
        "--child",
        part,
        "--folder",
        str(folder),
        "--parallel",
        str(given.parallel),
        "--wait",
        str(wait),
    ]
    done = subprocess.run(words, stdout=subprocess.PIPE, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def measured_wait(given: argparse.Namespace) -> float:
    """Seconds to read one host with that many domains over TCP at the round-trip time, without CPU
    time."""
    with ExitStack() as stack:
        daemon = stack.enter_context(hosts_daemon(1, given.domains))
        address = f"127.0.0.1:{daemon.tcp_port}"
        port, _ = stack.enter_context(delay_proxy.running(address, delay_ms=_TRIP * 500))
        near = min(seconds_to_read(daemon.tcp(0)) for _ in range(3))
        far = min(seconds_to_read(daemon.tcp(0, port)) for _ in range(3))
    print(
        f"one host over TCP: {near:.2f} s, at {_TRIP * 1000:.0f} ms {far:.2f} s "
        f"({(far - near) / _TRIP:.0f} round trips, {CALLS} calls at once)"
    )
    return far - near


def seconds_to_read(uri: str) -> float:
    """Wall seconds to read everything of a host."""
    began = time.perf_counter()
    for _item in libvirt_read(uri, with_fields(LiveOptions(), calls=CALLS)):
        pass
    return time.perf_counter() - began


def time_part(folder: Path, uris: list[str], given: argparse.Namespace, wait: float) -> bool:
    """All hosts, compared with the arithmetic minimum."""
    some = uris[:: max(1, len(uris) // 100)]
    alone = one_by_one(some) / len(some)
    took = in_child("time", folder, given, wait)
    least = max(len(uris) * wait / given.parallel, alone * len(uris))
    domains = len(uris) * given.domains
    ratios = took["wall"] / least, took["cpu"] / len(uris) / alone
    print(
        f"time: {took['wall']:.1f} s for {len(uris):,} hosts, {domains:,} domains; minimum "
        f"{least:.1f} s (waiting {len(uris) * wait / given.parallel:.1f}, CPU "
        f"{alone * len(uris):.1f}): ratio {ratios[0]:.2f} (bar {_WALL_BAR})"
    )
    print(
        f"      CPU {took['cpu']:.1f} s, {took['cpu'] / domains * 1000:.2f} ms a domain; alone "
        f"{alone / given.domains * 1000:.2f} ms: ratio {ratios[1]:.2f} (bar {_CPU_BAR})"
    )
    print(f"      peak memory {took['memory']:.0f} MB (bar {_MEMORY_BAR})")
    return (
        ratios[0] <= _WALL_BAR
        and ratios[1] <= _CPU_BAR
        and took["memory"] <= _MEMORY_BAR
        and took["code"] == 1
    )


def failing_part(folder: Path, uris: list[str], given: argparse.Namespace, wait: float) -> bool:
    """A fifth of the hosts fail."""
    took = in_child("failing", folder, given, wait)
    report = json.loads((folder / "failing.json").read_bytes())
    statuses = [target["status"] for target in report["targets"]]
    explained = sum(bool(one["error"]) for one in report["targets"] if one["status"] == "failed")
    complete, failed = statuses.count("ok"), statuses.count("failed")
    reasons = {one["error"].partition(": ")[2] for one in report["targets"] if one["error"]}
    print(
        f"failing: {complete:,} complete, {failed:,} failed in {len(reasons)} ways, {explained:,} "
        f"explained, exit {took['code']:.0f}, {took['wall']:.1f} s, CPU {took['cpu']:.1f} s"
    )
    wanted = -(-len(uris) // 5)
    return (complete, failed, explained, took["code"]) == (len(uris) - wanted, wanted, wanted, 4)


def sizes_part(folder: Path) -> None:
    """CPU time, peak memory and files of the commands on a fleet, each in a process of its own."""
    state, audit = f"{folder}/state", ("audit", "-i", f"{folder}/uris", "-q", "-o")
    page = (
        "from pathlib import Path; from vnicaudit.cli.fleet.serve import page_route; "
        "from vnicaudit.history.place import history_place; "
        f"state = Path({state!r}); route = page_route(history_place(None, state), state); "
        f"Path('{folder}/live.html').write_bytes(route('').body)"
    )
    for name, words, file in (
        ("audit, JSON", (*audit, f"{folder}/a.json"), "a.json"),
        ("the same, nothing changed", (*audit, f"{folder}/a.json"), "state/history.db"),
        ("audit, page", (*audit, f"{folder}/a.html"), "a.html"),
        ("audit, Markdown", (*audit, f"{folder}/a.md"), "a.md"),
        ("fleet top", ("fleet", "top"), ""),
        ("fleet top --by place", ("fleet", "top", "--by", "place"), ""),
        ("page of fleet serve", ("-c", page), "live.html"),
        ("history copy", ("history", "copy", f"{folder}/copy.db"), "copy.db"),
    ):  # fmt: skip
        program = () if words[0] == "-c" else ("-m", "vnicaudit")
        place = () if words[0] == "-c" else ("--state", state)
        child = subprocess.Popen([sys.executable, *program, *words, *place],
                                 stdout=subprocess.DEVNULL)  # fmt: skip
        _pid, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode > 1:
            raise SystemExit(f"{name} ended with {child.returncode}")
        size = f", {os.path.getsize(folder / file) / 1e6:.1f} MB in {file}" if file else ""
        print(
            f"sizes: {name}: {used.ru_utime + used.ru_stime:.1f} s of CPU time, "
            f"{used.ru_maxrss / 1024:.0f} MB of memory{size}",
            flush=True,
        )


def loop_part(folder: Path, given: argparse.Namespace) -> bool:
    """Real hosts at a round-trip time of 20 ms, compared with a shell loop."""
    hosts = 20
    with hosts_daemon(hosts, given.domains) as daemon:
        address = f"127.0.0.1:{daemon.tcp_port}"
        with delay_proxy.running(address, delay_ms=10) as (port, _proxy):
            ours = seconds_of_audit(folder, [daemon.tcp(n, port) for n in range(hosts)])
            loop = seconds_of_loop(daemon, port)
    ratio = loop * hosts / ours
    print(
        f"loop: {hosts} hosts of {given.domains} domains at 20 ms: {ours:.1f} s; virsh dumpxml in "
        f"a loop {loop:.1f} s a host, {loop * hosts:.0f} s for all: {ratio:.0f} times (bar "
        f"{_LOOP_BAR:.0f})"
    )
    return ratio >= _LOOP_BAR


def seconds_of_audit(folder: Path, uris: list[str]) -> float:
    """Wall seconds of vnicaudit, including start and report."""
    (folder / "far").write_text("\n".join(uris))
    words = [
        sys.executable,
        "-m",
        "vnicaudit",
        "audit",
        "-q",
        "-i",
        f"{folder}/far",
        "--state",
        f"{folder}/far-state",
        "--format",
        "json",
        "-o",
        f"{folder}/far.json",
    ]
    began = time.perf_counter()
    done = subprocess.run(words, check=False)
    if done.returncode != 1:
        raise SystemExit(f"audit ended with {done.returncode}")
    return time.perf_counter() - began


def seconds_of_loop(daemon: HostsDaemon, port: int) -> float:
    """Wall seconds of the shell loop a user would write, for one host."""
    virsh = 'virsh -r -c "$1"'
    script = f'for name in $({virsh} list --all --name); do {virsh} dumpxml "$name"; done'
    began = time.perf_counter()
    subprocess.run(
        ["sh", "-c", script, "sh", daemon.tcp(0, port)], stdout=subprocess.DEVNULL, check=True
    )
    return time.perf_counter() - began


def main() -> None:
    """Run the parts; exit code 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--domains", type=int, default=50)
    parser.add_argument("--parallel", type=int, default=32)
    parser.add_argument("--wait", type=float)
    parser.add_argument("--only", choices=["time", "failing", "loop", "sizes"])
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(given)
        return
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} CPUs")
    well = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if given.only != "loop":
            is_read = given.only != "sizes" and given.wait is None
            wait = measured_wait(given) if is_read else given.wait
            uris = write_hosts(folder, given.hosts, given.domains)
            (folder / "uris").write_text("\n".join(uris))
        if given.only in (None, "time"):
            well.append(time_part(folder, uris, given, wait))
        if given.only in (None, "failing"):
            well.append(failing_part(folder, uris, given, wait))
        if given.only == "sizes":
            sizes_part(folder)
        if given.only in (None, "loop"):
            well.append(loop_part(folder, given))
    print(f"load {os.getloadavg()[0]:.1f}")
    raise SystemExit(not all(well))


if __name__ == "__main__":
    main()
