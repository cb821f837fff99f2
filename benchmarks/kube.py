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

import urllib3

from tests.kube.objects import instance_of, interface, node, virtual_machine
from tests.kube.server import ADMIN, Server, running_server
from vnicaudit.platforms.kubevirt.live.lists import RESOURCES

PAGE = 500


def fill(server: Server, count: int) -> None:
    """VMs with their instances."""
    server.load(node())
    server.namespace("shop")

    def make(number: int) -> None:
        nics = (interface(model="e1000" if number % 4 == 0 else "virtio"), interface("lan"))
        vm = virtual_machine(f"vm-{number:05}", *nics)
        server.load(vm, instance_of(vm))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(make, range(count)))


def bare(server: Server) -> int:
    """List what an audit lists; returns the number of objects."""
    pool = urllib3.PoolManager(ca_certs=str(server.folder / "ca.crt"))
    head = {"Authorization": f"Bearer {ADMIN}"}
    versions = {"pool.kubevirt.io": "v1beta1", "instancetype.kubevirt.io": "v1beta1",
                "plugin.kubevirt.io": "v1alpha1"}  # fmt: skip
    found = 0
    for one in RESOURCES:
        group = f"/apis/{one.group}" if one.group else "/api"
        url = f"{server.url}{group}/{versions.get(one.group, 'v1')}/{one.plural}"
        token = ""
        while True:
            query = {"limit": str(PAGE), "continue": token, "labelSelector": one.selector}
            answer = json.loads(pool.request("GET", url, fields=query, headers=head).data)
            found += len(answer["items"])
            token = answer["metadata"].get("continue") or ""
            if not token:
                break
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
