"""``bench run --cluster`` on two nodes whose pods run: whatever becomes of it, no pod is left."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.command import SCRIPT, vnicaudit
from tests.kube.nodes import Nodes
from tests.kube.objects import ONE_STREAM, attachment
from tests.kube.server import Server
from tests.rig.process import wait_for

pytestmark = pytest.mark.kube
NEVER = {"cniVersion": "0.3.1", "type": "macvlan", "master": "none0", "ipam": {}}


class Runs:
    """Commands of one user, over one cluster."""

    def __init__(self, nodes: Nodes, cluster: Server, folder: Path) -> None:
        self.nodes, self.cluster, self.state = nodes, cluster, folder / "state"
        self.profile = folder / "one.toml"
        self.profile.write_text(ONE_STREAM)
        self.environment = {**nodes.environment, "KUBECONFIG": str(cluster.admin)}

    def words(self, paths: str, seconds: int = 1) -> list[str]:
        options = ["--seconds", str(seconds), "--state", str(self.state), "--yes"]
        profile = ["-p", str(self.profile), "--image", "tools"]
        return ["bench", "run", "--cluster", "kube:admin", "--paths", paths, *profile, *options]

    def clean(self, *words: str) -> subprocess.CompletedProcess[str]:
        state = ("--state", self.state)
        return vnicaudit("bench", "clean", *words, "--yes", *state, env=self.environment)

    @contextmanager
    def begun(self, paths: str) -> Iterator[subprocess.Popen[str]]:
        """A measurement of minutes; it is killed at the end."""
        with subprocess.Popen(
            [sys.executable, SCRIPT, *self.words(paths, 300)],
            env={**os.environ, **self.environment}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        ) as process:  # fmt: skip
            try:
                yield process
            finally:
                process.kill()

    def pods(self) -> list[str]:
        query = {"labelSelector": "app.kubernetes.io/managed-by=vnicaudit"}
        found = self.cluster.ask("GET", "/api/v1/pods", **query)["items"]
        return [one["metadata"]["name"] for one in found]

    def left(self) -> list[str]:
        """Pods, namespaces, and processes on the nodes."""
        query = {"labelSelector": "app.kubernetes.io/managed-by=vnicaudit"}
        spaces = self.cluster.ask("GET", "/api/v1/namespaces", **query)["items"]
        return [*self.pods(), *(one["metadata"]["name"] for one in spaces), *self.engines()]

    def engines(self) -> list[str]:
        told = [one.space.run("ps", "-eo", "args") for one in self.nodes.machines]
        return [line for text in told for line in text.splitlines() if line.startswith("iperf3 -s")]


@pytest.fixture
def runs(nodes: Nodes, cluster: Server, tmp_path: Path) -> Runs:
    return Runs(nodes, cluster, tmp_path)


@pytest.fixture(params=["while pods are awaited", "while it measures"])
def begun(request: pytest.FixtureRequest, runs: Runs) -> Iterator[subprocess.Popen[str]]:
    """A measurement that has come so far: pods whose network cannot be attached do not come."""
    waits = request.param == "while pods are awaited"
    runs.cluster.load(attachment("lan", "shop", json.dumps(NEVER)))
    with runs.begun("nad:shop/lan" if waits else "pod-same") as process:
        fact = runs.pods if waits else runs.engines
        wait_for(lambda: process.poll() is not None or len(fact()) > waits, request.param)
        assert process.poll() is None, process.stdout and process.stdout.read()
        yield process


def test_nothing_is_left_after_the_end(runs: Runs) -> None:
    done = vnicaudit(*runs.words("pod-same,hostnetwork"), env=runs.environment)
    assert done.returncode == 0, done.stderr
    assert runs.left() == []


def test_nothing_is_left_after_ctrl_c(runs: Runs, begun: subprocess.Popen[str]) -> None:
    begun.send_signal(signal.SIGINT)
    told, _nothing = begun.communicate(timeout=100)
    assert begun.returncode == 130, told
    assert runs.left() == []


def test_what_is_left_after_a_kill_is_cleaned(runs: Runs, begun: subprocess.Popen[str]) -> None:
    begun.kill()
    begun.wait()
    assert len(runs.pods()) == 2
    done = runs.clean()
    assert done.returncode == 0, done.stderr
    assert "Removed run" in done.stdout
    assert runs.left() == []
    assert runs.clean().stdout == "No generator pods are left\n"


@pytest.mark.parametrize("begun", ["while it measures"], indirect=True)
def test_a_run_at_work_and_what_is_of_others_is_kept(
    runs: Runs, begun: subprocess.Popen[str]
) -> None:
    labels = {"app.kubernetes.io/managed-by": "vnicaudit"}
    other = {"name": "vnicaudit-bench-other", "labels": labels}
    runs.cluster.ask("POST", "/api/v1/namespaces", {"metadata": other})
    try:
        done = runs.clean("kube:admin")
        assert "is at work" in done.stdout
        assert "Removed" not in done.stdout
        assert "vnicaudit-bench-other" in runs.left()
        assert len(runs.pods()) == 2
        assert begun.poll() is None
        second = vnicaudit(*runs.words("pod-same")[:-1], env=runs.environment)
        assert second.returncode == 2  # it does not begin without a yes
        assert "may be measuring as well: two runs at once" in " ".join(second.stderr.split())
    finally:
        runs.cluster.ask("DELETE", "/api/v1/namespaces/vnicaudit-bench-other")
    begun.send_signal(signal.SIGINT)
    begun.communicate(timeout=100)
    wait_for(lambda: not runs.left(), "both namespaces go")
