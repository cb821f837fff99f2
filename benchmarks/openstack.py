"""Reading an OpenStack cloud, compared with the bare list calls of the same cloud.

    python -m benchmarks.openstack [--servers 1000] [--rounds 7] [--cloud NAME | --recorded]

Starts the cloud of ``tests/openstack`` (needs root), with SERVERS servers on a compute host that
does not really run them, each with a port. Then it measures in turn, in one process inside of it:

* lists: ``servers/detail``, ``ports``, ``images`` and ``flavors/detail``, one after the other, with
  the largest pages that the service gives, decoded as JSON; nothing else. Login comes before;
* read: vnicaudit's whole reading (login, everything else to read, joined records);
* audit: the same, plus every rule on every NIC, server, image and flavor. Nova is made to report
  that the host of the servers has QEMU, so that none of them is skipped. If one is skipped, or
  nothing is found, the benchmark fails.

Then, once each in a process of its own: number of requests, CPU time, and peak memory.

With ``--cloud`` it measures a cloud of clouds.yaml as it is, from this machine. With ``--recorded``
it needs neither root nor OpenStack: a local HTTP server answers like a real Nova 34, and reading
and audit are measured as CPU time of a separate process.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from vnicaudit.audit.judging.catalogue import rule_ids
from vnicaudit.audit.judging.domains import DomainAuditor
from vnicaudit.audit.judging.judgement import DescriptionAuditor
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.domain import Domain
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.model.host import HostConfig
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.openstack.connect import CloudLogin, connect
from vnicaudit.platforms.openstack.read import CloudItems

if TYPE_CHECKING:
    from tests.platforms.openstack.cloud import Intercept

_DEADLINE = 300.0
_BAR = 1.3
_INSIDE = "admin"
"""The cloud's name in its own clouds.yaml."""
_MODELS = ("rtl8139", "e1000", "virtio", "e1000e", "virtio", None, "virtio", "ne2k_pci")
_MACHINES = ("pc", "q35", None)
_VCPUS = (1, 2, 4, 8, 16)
_EXTRA_SPECS: tuple[dict[str, str], ...] = (
    {},
    {"hw:vif_multiqueue_enabled": "true"},
    {"hw:cpu_policy": "dedicated"},
    {"hw:mem_page_size": "large", "hw:vif_multiqueue_enabled": "true"},
)
_LISTS = (
    ("compute", "/servers/detail?all_tenants=True", "servers", "2.98"),
    ("network", "/ports", "ports", None),
    ("image", "/images", "images", None),
    ("compute", "/flavors/detail?is_public=None", "flavors", "2.61"),
)


def lists(cloud: CloudLogin) -> int:
    """The minimum for reading these lists."""
    servers, *_others = (_whole(cloud, *each) for each in _LISTS)
    return servers


def _whole(cloud: CloudLogin, service: str, path: str, key: str, microversion: str | None) -> int:
    """Number of items on all pages of a list."""
    base, count = cloud.endpoint(service).url, 0
    url: str | None = f"{base}{path}"
    while url is not None:
        answer: dict[str, Any] = cloud.session.get(
            url, microversion=microversion, microversion_service_type=service
        ).json()
        count += len(answer[key])
        links = [each["href"] for each in answer.get(f"{key}_links", ()) if each["rel"] == "next"]
        following = answer.get("next")
        url = base.removesuffix("/v2") + following if following else next(iter(links), None)
    return count


def reading(name: str) -> CloudItems:
    """A cloud as vnicaudit reads it."""
    return CloudItems(f"openstack:{name}", LiveOptions(_DEADLINE))


def read_all(cloud: CloudLogin) -> int:
    """Read everything that vnicaudit reads."""
    return sum(isinstance(item, Domain) for item in reading(cloud.name).items)


def audit_all(cloud: CloudLogin) -> int:
    """Read everything, and run every rule on it."""
    engine, host, done, found = DomainAuditor(rule_ids(), every_platform()), HostConfig(), 0, 0
    descriptions = DescriptionAuditor(rule_ids(), every_platform().wordings)
    for item in reading(cloud.name).items:
        if isinstance(item, Domain):
            if item.unjudged:
                raise SystemExit(f"{item.name} is not judged: it needs {item.unjudged}")
            found += len(engine.audit_domain(item, host, cloud.target).findings)
            done += 1
        elif not isinstance(item, ReadError):
            descriptions.audit(item, cloud.target)
    if found < done / 3:
        raise SystemExit(f"{found} findings on {done} servers: the rules were not at work")
    return done


JOBS: dict[str, Callable[[CloudLogin], int]] = {
    "lists": lists,
    "read": read_all,
    "audit": audit_all,
}


def measure(cloud: CloudLogin, rounds: int) -> dict[str, list[float]]:
    """Seconds of each job; the jobs take turns."""
    taken: dict[str, list[float]] = {name: [] for name in JOBS}
    seen = set()
    for _ in range(rounds):
        for name, job in JOBS.items():
            began = time.perf_counter()
            seen.add(job(cloud))
            taken[name].append(time.perf_counter() - began)
    if len(seen) != 1:
        raise SystemExit(f"the jobs saw different numbers of servers: {sorted(seen)}")
    print(f"{seen.pop()} servers, {rounds} rounds, load {os.getloadavg()[0]:.1f}")
    return taken


def show(taken: dict[str, list[float]]) -> float:
    """Print medians and the ratio to the lists, round by round; return the ratio of the audit."""
    ratio = 0.0
    for name, spent in taken.items():
        pairs = zip(spent, taken["lists"], strict=True)
        ratio = statistics.median(mine / least for mine, least in pairs)
        wall = statistics.median(spent)
        print(f"  {name:6} {wall:6.2f} s (best {min(spent):5.2f}), ratio {ratio:.2f}")
    return ratio


def alone(cloud: CloudLogin, job: str) -> None:
    """Run one job in this process: print its CPU time, which depends little on other work on the
    machine, and its peak memory."""
    before, began = _most_memory(), time.process_time()
    JOBS[job](cloud)
    spent = time.process_time() - began
    most = f"{_most_memory():.0f} MiB at most, {before:.0f} MiB before it began"
    print(f"  {job:6} {spent:.2f} s CPU, {most}")


def _most_memory() -> float:
    """Peak memory in MiB, without memory inherited from the parent process (which ``ru_maxrss``
    includes)."""
    status = Path("/proc/self/status").read_text("utf-8")
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def calls(name: str) -> None:
    """Print the number of requests of a reading."""
    read = reading(name)
    servers = sum(isinstance(item, Domain) for item in read.items)
    print(f"  {servers} servers, requests: {read.calls}")


def _varied(number: int) -> dict[str, Any]:
    """Image properties and flavor of server ``number``. No two servers are alike, so that no
    verdict can be reused; three of eight have a virtio NIC."""
    model, machine = _MODELS[number % 8], _MACHINES[number // 8 % 3]
    properties = {"os_distro": f"distro{number}", "hw_disk_bus": "virtio"}
    properties |= {} if model is None else {"hw_vif_model": model}
    properties |= {} if machine is None else {"hw_machine_type": machine}
    properties |= {"hw_vif_multiqueue_enabled": "true"} if number % 7 == 0 else {}
    flavor = {
        "vcpus": _VCPUS[number // 24 % 5],
        "ram": 512 + number,
        "original_name": f"m{number}",
        "extra_specs": _EXTRA_SPECS[number // 120 % 4],
    }
    return {"properties": properties, "flavor": flavor}


def _many_kinds(many: Intercept) -> Intercept:
    """The answers of ``many``, with different image properties and flavor for each server."""
    from tests.platforms.openstack.cloud import Asked, Reply, reply

    def intercept(asked: Asked) -> Reply | None:
        answer = many(asked)
        if answer is None or not asked.path.endswith("/servers/detail"):
            return answer
        body = json.loads(answer.body)
        for server in body["servers"]:
            own = _varied(int(server["id"][:8], 16))
            server["image"] = {**server["image"], "properties": own["properties"]}
            server["flavor"] = {**server["flavor"], **own["flavor"]}
        return reply(200, body)

    return intercept


def recorded(servers: int, rounds: int) -> None:
    """Reading and audit of recorded answers, in turn."""
    from tests.platforms.openstack.cloud import PASSWORD, FakeCloud, serve
    from tests.platforms.openstack.conftest import CLOUD
    from tests.platforms.openstack.test_memory import Many

    fake = FakeCloud()
    fake.intercept = _many_kinds(Many(servers, ports=True))
    with TemporaryDirectory() as folder:
        file = Path(folder, "clouds.yaml")
        for running in serve(fake):
            entry = CLOUD.format(name=_INSIDE, url=running.url, password=PASSWORD)
            file.write_text(f"clouds:\n{entry}", "utf-8")
            environment = {**os.environ, "OS_CLIENT_CONFIG_FILE": str(file)}
            for _ in range(rounds):
                for job in ("read", "audit"):
                    me = [sys.executable, "-m", "benchmarks.openstack", "--cloud", _INSIDE]
                    subprocess.run([*me, "--job", job], check=True, env=environment)


def inside(servers: int, arguments: list[str]) -> int:
    """Run this program in the cloud of the tests; returns its exit code."""
    from tests.openstack.running import running_cloud
    from tests.openstack.scale import many_servers

    with running_cloud() as cloud, many_servers(cloud, servers, hypervisor="QEMU"):
        me = [sys.executable, "-m", "benchmarks.openstack", "--cloud", _INSIDE, *arguments]
        command = cloud.machine.namespaces.command(*me)
        return subprocess.run(command, env=cloud.environment(), check=False).returncode


def main() -> None:
    """Measure and print; exit code 1 if the bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--servers", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--cloud", help="measure this cloud as it is")
    parser.add_argument("--job", choices=JOBS, help=argparse.SUPPRESS)
    parser.add_argument("--recorded", action="store_true", help="of answers that were recorded")
    given = parser.parse_args()
    if given.recorded:
        recorded(given.servers, given.rounds)
        return
    if given.cloud is None:
        raise SystemExit(inside(given.servers, ["--rounds", str(given.rounds)]))
    cloud = connect(given.cloud, deadline=_DEADLINE)
    if given.job is not None:
        alone(cloud, given.job)
        return
    ratio = show(measure(cloud, given.rounds))
    calls(given.cloud)
    for job in JOBS:
        me = [sys.executable, "-m", "benchmarks.openstack", "--cloud", given.cloud, "--job", job]
        subprocess.run(me, check=True)
    print(f"bar (ratio {_BAR}): {'missed' if ratio > _BAR else 'held'}")
    raise SystemExit(int(ratio > _BAR))


if __name__ == "__main__":
    main()
