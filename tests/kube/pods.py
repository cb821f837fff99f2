"""Pods in which commands really run: the API server passes exec on to podexec, as to a kubelet."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from socket import create_connection

from tests.kube import building
from tests.kube.server import Server
from tests.ports import free_port
from tests.rig.errors import RigError
from tests.rig.process import wait_for

NODE = "pods"
"""The node that they are on."""


class Pods:
    """Those of a cluster. What is in them is said by the words before each command."""

    def __init__(self, server: Server, file: str = "pods.json") -> None:
        self.server = server
        self.file = server.folder / file
        self._before: dict[str, Sequence[str]] = {}
        self._write()

    def add(
        self, name: str, *before: str, namespace: str = "shop", container: str = "compute",
        **metadata: object,
    ) -> None:  # fmt: skip
        """A pod that runs: a command in it is run with these words before it, by this user."""
        self.know(f"{namespace}/{name}", before)
        self.server.load({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace, **metadata},
            "spec": {"nodeName": NODE, "containers": [{"name": container, "image": "none"}]},
            "status": {"phase": "Running"},
        })  # fmt: skip

    def know(self, name: str, before: Sequence[str]) -> None:
        """These words are before a command in a pod that is there; with none, there is no such
        pod."""
        self._before = {**self._before, name: before}
        if not before:
            del self._before[name]
        self._write()

    def clear(self) -> None:
        """There is none any more; their objects are the server's to unload."""
        self._before.clear()
        self._write()

    def _write(self) -> None:
        part = self.file.with_suffix(".part")
        part.write_text(json.dumps(self._before))
        part.rename(self.file)


@contextmanager
def running_pods(server: Server) -> Iterator[Pods]:
    """A node whose pods run commands, until the end. Raises Missing."""
    pods, port = Pods(server), free_port()
    with executing(server, pods.file, "127.0.0.1", port):
        server.ask("POST", "/api/v1/nodes", {"metadata": {"name": NODE}})
        status = {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        }
        node, kind = f"/api/v1/nodes/{NODE}", "application/merge-patch+json"
        server.ask("PATCH", f"{node}/status", {"status": status}, kind=kind)
        yield pods
        server.ask("DELETE", node)


@contextmanager
def executing(server: Server, pods: Path, address: str, port: int, *before: str) -> Iterator[None]:
    """What runs commands in the pods of a file listens there. ``before``: the words by which it is
    run elsewhere. Raises Missing."""
    log = server.folder / f"podexec-{address}.log"
    files = [str(server.folder / name) for name in ("server.crt", "server.key", "ca.crt")]
    words = [*before, str(building.podexec()), f"{address}:{port}", *files, str(pods)]
    with ExitStack() as ended, log.open("w") as said:
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *words],
            stdin=subprocess.DEVNULL, stdout=said, stderr=said,
        )  # fmt: skip
        ended.callback(process.wait)
        ended.callback(process.kill)

        def listens() -> bool:
            if process.poll() is not None:
                raise RigError(f"podexec has ended: {log.read_text()}")
            with suppress(OSError, HTTPException), create_connection((address, port)):
                return True
            return False

        wait_for(listens, "podexec listens")
        yield
