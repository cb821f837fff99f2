"""A cluster with two nodes whose pods run: what is created by the API server comes to life.

    with running_nodes(server) as nodes: ...

``kubelet.py`` makes pods of objects, on the machines of ``machines.py``; commands in them go by the
API server, as with any cluster. Virtual machines are spaces with an sshd, beside their objects.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from socket import create_connection
from typing import Literal

from tests.bench.endpoints.private_sshd import SSH, SSHD
from tests.kube.kubelet import Kubelet, labels, running_kubelet
from tests.kube.machines import Machine, two_machines
from tests.kube.objects import instance_of, interface, virtual_machine
from tests.kube.pods import Pods, executing
from tests.kube.server import Server
from tests.kube.spaces import Space
from tests.rig.process import run, wait_for

Step = Literal["wire", "overlay", "pods", "vms", "second wire"]
_PORT = 10250


class Nodes:
    """Two of them, ``node-a`` and ``node-b``."""

    def __init__(self, kubelet: Kubelet, machines: Sequence[Machine], folder: Path) -> None:
        self.machines, self.folder = machines, folder
        self._kubelet = kubelet
        self._vms: list[tuple[Machine, Space]] = []

    def check(self) -> None:
        """Raise what has ended the kubelet, if it has ended."""
        if self._kubelet.failure is not None:
            raise self._kubelet.failure

    @property
    def environment(self) -> Mapping[str, str]:
        """With which the ``ssh`` of a program finds the keys of nodes and virtual machines."""
        return {"PATH": f"{self.folder}/bin:{os.environ['PATH']}"}

    def addresses(self) -> tuple[str, ...]:
        """The InternalIPs of the nodes."""
        return tuple(one.address for one in self.machines)

    @contextmanager
    def limited(self, step: Step, rate: str = "3gbit") -> Iterator[None]:
        """So much comes through at a step: ``wire``, between the nodes; ``overlay``, what of the
        network of the pods goes over it; ``pods``, the link of each pod to its node, also of those
        that come; ``vms``, that of each virtual machine; ``second wire``, for macvlan."""
        self._limit(step, rate)
        try:
            yield
        finally:
            self._limit(step, "")

    def _limit(self, step: Step, rate: str) -> None:
        nics = {"wire": "eno1", "overlay": "vxlan0", "second wire": "eno2"}
        if step in nics:
            for machine in self.machines:
                machine.space.limit(nics[step], rate)
            return
        if step == "pods":
            self._kubelet.limit = rate
        for machine, space in self._kubelet.links() if step == "pods" else self._vms:
            machine.limit(space, rate)

    @contextmanager
    def virtual_machine(
        self, name: str = "db", node: str = "node-a", namespace: str = "shop"
    ) -> Iterator[Space]:
        """One that runs, in the network of the pods, and lets in by ssh; with its objects."""
        machine = next(one for one in self.machines if one.name == node)
        space = Space(f"vm-{namespace}-{name}", machine.space)
        with ExitStack() as ended:
            ended.callback(space.end)
            ended.callback(machine.detach, space)
            link = machine.attach(space)
            self._vms.append((machine, space))
            ended.callback(self._vms.remove, (machine, space))
            _begin_sshd(space, link.address, self.folder)
            vm = virtual_machine(name, interface(), namespace=namespace)
            vm["spec"]["template"]["spec"]["nodeSelector"] = {"kubernetes.io/hostname": node}
            instance = instance_of(vm)
            (nic,) = instance["status"]["interfaces"]
            nic |= {"ipAddress": link.address, "ipAddresses": [link.address], "mac": link.mac}
            nic |= {"interfaceName": "eth0", "infoSource": "domain, guest-agent"}
            instance["status"]["nodeName"] = node
            self._kubelet.server.load(vm, instance)
            yield space


@contextmanager
def running_nodes(server: Server) -> Iterator[Nodes]:
    """Nodes that are Ready, until the end. Raises Missing."""
    folder = server.folder / "nodes"
    _make_keys(folder)
    with ExitStack() as ended:
        machines = ended.enter_context(two_machines())
        pods = Pods(server, "pods-of-nodes.json")
        for one in machines:
            before = ("nsenter", "-t", str(one.space.pid), "-n")
            ended.enter_context(executing(server, pods.file, one.address, _PORT, *before))
            _begin_sshd(one.space, one.address, folder)
            _register(server, one)
            ended.callback(server.ask, "DELETE", f"/api/v1/nodes/{one.name}")
        kubelet = ended.enter_context(running_kubelet(pods, machines))
        yield Nodes(kubelet, machines, folder)


def _register(server: Server, machine: Machine) -> None:
    """It is a node, and Ready; the taint that it was admitted with is taken off."""
    condition = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    status = {
        "addresses": [
            {"type": "InternalIP", "address": machine.address},
            {"type": "Hostname", "address": machine.name},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": _PORT}}, "conditions": [condition],
    }  # fmt: skip
    metadata = {"name": machine.name, "labels": labels(machine.name)}
    path, kind = f"/api/v1/nodes/{machine.name}", "application/merge-patch+json"
    server.ask("POST", "/api/v1/nodes", {"metadata": metadata})
    server.ask("PATCH", f"{path}/status", {"status": status}, kind=kind)
    server.ask("PATCH", path, {"spec": {"taints": None}}, kind=kind)


def _make_keys(folder: Path) -> None:
    """And the program ``ssh`` that uses them, which is found before the machine's own."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "bin").mkdir(parents=True)
    for name in ("host", "user"):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name)
    (folder / "known").write_text(f"testbed {(folder / 'host.pub').read_text()}")
    (folder / "sshd").write_text("Port 22\n" + SSHD.format(folder=folder))
    (folder / "config").write_text(SSH.format(folder=folder) + "HostKeyAlias testbed\n")
    program = folder / "bin/ssh"
    program.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {folder}/config "$@"\n')
    program.chmod(0o755)
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # where sshd leaves its privileges behind


def _begin_sshd(space: Space, address: str, folder: Path) -> None:
    """It listens in a space when this returns, and ends with it: its parent is the first process
    there, which takes note of its end at once."""
    program = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
    space.run(str(program), "-f", str(folder / "sshd"), "-E", str(folder / f"{space.name}.log"))
    wait_for(lambda: _listens(address), f"sshd listens in {space.name}", seconds=30)


def _listens(address: str) -> bool:
    try:
        create_connection((address, 22), timeout=1).close()
    except OSError:
        return False
    return True
