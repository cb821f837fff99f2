"""A limit planted at one step of a cluster is named at that step; without one, none is."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.cli.command import vnicaudit
from tests.kube.nodes import Nodes
from tests.kube.server import Server
from vnicaudit.bench.judging.stored_comparison import judged_steps_of
from vnicaudit.reports.bench.reading import from_file

pytestmark = [pytest.mark.kube, pytest.mark.usefixtures("nodes")]
PROFILE = """\
title = "One stream"
repeats = 6
cooldown = 0
guards = []
max-steal = 100
max-cpu-wait = 100

[[workload]]
engine = "iperf3"
patterns = ["tcp"]
directions = ["rx"]
connections = [1]
seconds = 1
warmup = 1
"""
"""Every run counts, however busy this machine is: the limits are far below what it carries."""
LOSING = {"overlay": ["pod-cross"], "pods": ["pod-same"], "": []}
"""Step with a limit -> the paths into which a step loses."""


@contextmanager
def planted(nodes: Nodes, step: str) -> Iterator[None]:
    """Each path carries about 96 Mb/s, as the line between the nodes has room for the tunnel; and
    60 Mbit/s, with all around the payload, go through at ``step``."""
    with ExitStack() as limits:
        limits.enter_context(nodes.limited("wire", "103mbit"))
        limits.enter_context(nodes.limited("pods", "60mbit" if step == "pods" else "100mbit"))
        if step == "overlay":
            limits.enter_context(nodes.limited("overlay", "60mbit"))
        yield


Measure = Callable[[str, str], list[str]]
PODS, ALL = "pod-same,pod-cross", "host,pod-same,pod-cross"


@pytest.fixture
def losing(nodes: Nodes, cluster: Server, tmp_path: Path) -> Measure:
    """Plants a limit, measures, and returns the paths into which a step loses."""
    profile = tmp_path / "stream.toml"
    profile.write_text(PROFILE)

    def measure(step: str, paths: str) -> list[str]:
        file = tmp_path / "drop.json"
        with planted(nodes, step):
            done = vnicaudit(
                "bench", "run", "-y", "-q", "-p", profile, "--image", "tools", "--cluster",
                f"kube:?kubeconfig={cluster.admin}", "--paths", paths,
                "--state", tmp_path / "state", "-o", file, timeout=900,
                env={**os.environ, **nodes.environment},
            )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found = [step.step.lower for step in judged_steps_of(from_file(file)) if step.lost_rows]
        told = done.stdout.partition("Where it drops\n")[2].partition("\n")[0].strip()
        assert all(f"→ {path} (" in told for path in found), told
        assert found or told in (
            "nowhere by more than the margin",
            "no step loses speed beyond chance; some are undecided",
        )
        for one in json.loads(file.read_text())["samples"]:
            for end in ("target_parts", "peer_parts"):  # of one machine, each by its own cgroup
                assert one["covariates"]["cpu"][end]["group"] != 0
        return found

    return measure


@pytest.mark.parametrize("step", ["overlay", ""])
def test_a_planted_limit_is_named_at_its_step(losing: Measure, step: str) -> None:
    assert losing(step, PODS) == LOSING[step]


@pytest.mark.long
@pytest.mark.parametrize("number", range(10))
def test_in_ten_of_ten_measurements_each(losing: Measure, number: int) -> None:
    step = ("overlay", "pods")[number % 2]
    assert losing(step, ALL) == LOSING[step]
    assert losing("", ALL) == []
