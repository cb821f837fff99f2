"""A cluster of many VMs: the audit against the bare lists of the same resources.

    python -m benchmarks.kube [VMS]

A real API server (tests/kube) holds VMs with two NICs each, and their running instances. The bare
lists are pages of 500 through urllib3 and json. Results: docs/performance.md.
"""

import json
import os
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import urllib3

from tests.kube.objects import (
    Object,
    attachment,
    instance_of,
    interface,
    kubevirt,
    node,
    virtual_machine,
)
from tests.kube.server import ADMIN, Server, running_server
from vnicaudit.platforms.kubevirt.live.lists import RESOURCES, path_of

PAGE = 500


def fill(server: Server, count: int) -> None:
    """VMs with their instances, on the pod network and on one to attach; each fourth has e1000."""
    server.load(kubevirt(), node(), attachment())
    lan: Object = {"name": "lan", "bridge": {}}

    def make(number: int) -> None:
        first = interface(model="e1000" if number % 4 == 0 else "virtio")
        vm = virtual_machine(f"vm-{number:05}", first, lan)
        networks = vm["spec"]["template"]["spec"]["networks"]
        networks[1] = {"name": "lan", "multus": {"networkName": "lan"}}
        vmi = instance_of(vm)
        for nic, one in enumerate(vmi["status"]["interfaces"]):
            one["mac"] = f"02:00:00:{number >> 8:02x}:{number & 255:02x}:0{nic}"
        server.load(vm, vmi)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(make, range(count)))


def bare(server: Server) -> int:
    """List what an audit lists; returns the number of objects."""
    pool = urllib3.PoolManager(ca_certs=str(server.folder / "ca.crt"))
    head = {"Authorization": f"Bearer {ADMIN}"}

    def answer(path: str, **query: str) -> Any:
        return json.loads(pool.request("GET", server.url + path, fields=query, headers=head).data)

    groups = answer("/apis")["groups"]
    versions = {one["name"]: one["preferredVersion"]["version"] for one in groups} | {"": "v1"}
    found = 0
    for one in RESOURCES:
        path = path_of(one, versions[one.group], "") if one.group in versions else ""
        token = ""
        while path:
            page = answer(path, limit=str(PAGE), labelSelector=one.selector, **{"continue": token})
            found += len(page["items"])
            token = page["metadata"].get("continue") or ""
            path = path if token else ""
    return found


def main() -> None:
    """Measure, three times each."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    with running_server() as server:
        fill(server, count)
        environment = {**os.environ, "KUBECONFIG": str(server.admin)}
        command = [sys.executable, "-m", "vnicaudit", "audit", "kube:", "--format", "json"]
        for _ in range(3):
            begin = time.monotonic()
            objects = bare(server)
            lists = time.monotonic() - begin
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            begin = time.monotonic()
            done = subprocess.run(command, env=environment, capture_output=True, check=False)
            wall = time.monotonic() - begin
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            judged = json.loads(done.stdout)["summary"]["domains"]
            print(
                f"{objects} objects listed in {lists:.1f} s; {judged} VMs judged in {wall:.1f} s "
                f"({wall / lists:.2f} x), {used / count * 1000:.2f} ms CPU a VM, "
                f"{after.ru_maxrss >> 10} MB at most"
            )


if __name__ == "__main__":
    main()
