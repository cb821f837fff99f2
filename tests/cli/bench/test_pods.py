"""``vnicaudit bench run --cluster`` and ``bench clean``: what is shown, asked and refused, on a
cluster of this process."""

import subprocess
from pathlib import Path

import pytest

from tests.bench.pods.canned import CannedCluster, Object, node
from tests.cli.inside import inside
from tests.rows import rows
from vnicaudit.bench.pods.cluster import PodCluster
from vnicaudit.bench.pods.records import PodsRecord, recorded
from vnicaudit.cli.wiring import Wiring
from vnicaudit.errors import EndpointError, TargetError

RUN = ("bench", "run", "-p", "smoke", "--cluster", "kube:prod", "--image", "tools")
ID = "20261130-120000-0001"


def told(cluster: CannedCluster, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """The outcome of a command in that cluster."""

    def reached(target: str, _deadline: float) -> PodCluster:
        if target == "kube:gone":
            raise TargetError("the API server cannot be reached", file=target)
        return cluster

    return inside(*words, wiring=Wiring(pods=reached))


def left(cluster: CannedCluster, run: str = ID) -> None:
    """A run was killed."""
    labels = {"app.kubernetes.io/managed-by": "vnicaudit", "vnicaudit/run": run}
    notes = {"vnicaudit/owner": "root@kvm7", "vnicaudit/until": "2100-01-01T00:00:00+00:00"}
    name = f"vnicaudit-bench-{run}"
    cluster.spaces[name] = {"metadata": {"name": name, "labels": labels, "annotations": notes}}
    cluster.create_pod(name, {"metadata": {"name": "a1"}})


def record(state: Path, target: str = "kube:prod", server: str = CannedCluster.server) -> Path:
    with recorded(state, PodsRecord(ID, target, server)):
        pass
    return state / f"bench/pods/{ID}.json"


def test_the_plan_names_everything_before_it_asks(tmp_path: Path) -> None:
    cluster = CannedCluster(node("n1"), node("n2"), node("n3", cordoned=True))
    cluster.networks.add("lab/fast")
    paths = ("--paths", "host,pod-same,hostnetwork,nad:lab/fast")
    result = told(cluster, *RUN, *paths, "--state", tmp_path)
    assert result.returncode == 2
    text = " ".join(result.stderr.split())
    run = text.partition("namespace vnicaudit-bench-")[2].partition(",")[0]
    for words in (
        "cluster kube:prod (https://192.0.2.1:6443)",
        "nodes n1, n2: the first by name of 2 workers that are ready, schedulable and not tainted "
        "(amd64); not n3 (cordoned)",
        f"namespace vnicaudit-bench-{run}, new, pod security restricted",
        f"namespace vnicaudit-bench-{run}-host, new, pod security privileged",
        "pod a1 on n1", "pod a2 on n1", "pod host-b on n2, hostNetwork",
        "pod net4-b on n2, attached to lab/fast", "image tools, asks for 500m CPU and 128Mi",
        "path pod-same: pod a2 (n1) -> pod a1 (n1)",
        "path host: ssh://192.0.2.160 (n2) -> ssh://192.0.2.159 (n1)",
        "load as much as each path carries, one at a time: at most 24 runs",
        "Error: not a terminal: pass --yes to go ahead without asking",
    ):  # fmt: skip
        assert words in text
    assert cluster.calls == []
    assert not list(tmp_path.iterdir())


def test_another_run_in_the_cluster_is_told_in_the_plan(tmp_path: Path) -> None:
    cluster = CannedCluster()
    left(cluster)
    result = told(cluster, *RUN, "--paths", "pod-same", "--state", tmp_path)
    name = f"vnicaudit-bench-{ID}"
    words = (
        f"beware {name} (root@kvm7) may be measuring as well: two runs at once take speed from "
        f"each other. If it is dead: kubectl delete namespace {name}"
    )
    assert words in " ".join(result.stderr.split())


def test_another_run_that_began_meanwhile_is_told(tmp_path: Path) -> None:
    cluster = CannedCluster()

    def call(text: str) -> None:
        if text.endswith("/a2") and text.startswith("create"):
            cluster.at_call = lambda _text: None
            left(cluster)

    cluster.at_call = call
    words = ("--paths", "pod-same", "--state", tmp_path, "--yes", "--quiet")
    result = told(cluster, *RUN, *words)
    assert f"Warning: vnicaudit-bench-{ID} (root@kvm7) may be measuring as well" in result.stderr


@rows
def test_the_plan_tells_how_many_runs_name_a_step(tmp_path: Path, paths: str, words: str) -> None:
    cluster = CannedCluster(node("n1"), node("n2"))
    cluster.networks.add("lab/fast")
    result = told(cluster, *RUN, "-p", "line-100g", "--paths", paths, "--state", tmp_path)
    assert words in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("bench", "run", "local", "--image", "x"), "belong to --cluster kube:CONTEXT"),
        (("bench", "run", "--paths", "host"), "belong to --cluster kube:CONTEXT"),
        (RUN, "--cluster needs --paths"),
        ((*RUN, "--cluster", ""), "--cluster is empty: write kube:CONTEXT"),
        ((*RUN, "--paths", "host, pod-same", "--image", " "), "name an --image for the generator"),
        ((*RUN, "--paths", "pods"), "'pods' is not a path of a cluster; known: host, hostnetwork"),
        ((*RUN, "--paths", "host", "--arm", "a=b", "--arm", "c=d", "local"), "needs exactly one"),
    ],
)
def test_what_makes_no_sense(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    cluster = CannedCluster()
    result = told(cluster, *words, "--state", tmp_path)
    assert result.returncode == 2, result.stderr
    assert message in " ".join(result.stderr.split())
    assert cluster.calls == []


def test_another_target_than_a_cluster_is_refused(tmp_path: Path) -> None:
    result = inside("bench", "clean", "host7", "--state", tmp_path)
    assert result.returncode == 2
    assert "host7: not a cluster; write kube:CONTEXT" in result.stderr


def test_nothing_was_left(tmp_path: Path) -> None:
    result = told(CannedCluster(), "bench", "clean", "--state", tmp_path)
    assert (result.returncode, result.stdout) == (0, "No generator pods are left\n")


def test_what_a_killed_run_left_is_shown_and_removed(tmp_path: Path) -> None:
    cluster = CannedCluster()
    left(cluster)
    file = record(tmp_path)
    asked = told(cluster, "bench", "clean", "--state", tmp_path)
    shown = f"kube:prod: vnicaudit-bench-{ID}: 1 pod, left (root@kvm7)\n"
    assert (asked.returncode, asked.stdout) == (2, shown)
    assert cluster.of_pods
    result = told(cluster, "bench", "clean", "-y", "--state", tmp_path)
    assert (result.returncode, result.stdout) == (
        0, f"{shown}Removed run {ID} from kube:prod\n",
    )  # fmt: skip
    assert not cluster.of_pods
    assert not file.exists()


def test_pods_of_others_are_kept_until_they_end(tmp_path: Path) -> None:
    cluster = CannedCluster()
    left(cluster)
    result = told(cluster, "bench", "clean", "kube:prod", "-y", "--state", tmp_path)
    assert result.returncode == 0
    assert "kept: not a run of this state folder; it may be at work until 2100-01" in result.stdout
    assert cluster.of_pods


def test_a_cluster_that_cannot_be_reached_is_told_and_remembered(tmp_path: Path) -> None:
    file = record(tmp_path, "kube:gone")
    result = told(CannedCluster(), "bench", "clean", "-y", "--state", tmp_path)
    assert result.returncode == 4
    assert "kube:gone: the API server cannot be reached" in result.stderr
    assert file.exists()


def test_a_context_that_leads_elsewhere_by_now_is_told(tmp_path: Path) -> None:
    file = record(tmp_path, server="https://198.51.100.1:6443")
    cluster = CannedCluster()
    result = told(cluster, "bench", "clean", "-y", "--state", tmp_path)
    assert (result.returncode, result.stdout) == (4, "")
    assert "was in https://198.51.100.1:6443, to which kube:prod does not" in result.stderr
    assert file.exists()


def test_a_run_that_the_record_has_elsewhere_may_be_at_work_here(tmp_path: Path) -> None:
    cluster = CannedCluster()
    left(cluster)
    record(tmp_path, server="https://198.51.100.1:6443")
    result = told(cluster, "bench", "clean", "kube:prod", "-y", "--state", tmp_path)
    assert "kept: not a run of this state folder" in result.stdout
    assert cluster.of_pods


def test_a_run_at_work_is_kept_and_not_told_to_be_gone(tmp_path: Path) -> None:
    cluster = CannedCluster()
    left(cluster)
    with recorded(tmp_path, PodsRecord(ID, "kube:prod", CannedCluster.server)):
        result = told(cluster, "bench", "clean", "kube:prod", "-y", "--state", tmp_path)
    shown = f"kube:prod: vnicaudit-bench-{ID}: 1 pod, kept: is at work (root@kvm7)\n"
    assert (result.returncode, result.stdout) == (0, shown)
    assert cluster.of_pods


@pytest.mark.parametrize("name", ["shop", f"vnicaudit-bench-{ID}-shop", "vnicaudit-bench-other"])
def test_a_namespace_of_another_name_is_kept_whatever_its_labels(tmp_path: Path, name: str) -> None:
    """Somebody has given his own our labels."""
    cluster = CannedCluster()
    left(cluster)
    own = cluster.spaces[f"vnicaudit-bench-{ID}"]["metadata"]
    cluster.spaces[name] = {"metadata": own | {"name": name}}
    cluster.create_pod(name, {"metadata": {"name": "db"}})
    record(tmp_path)
    result = told(cluster, "bench", "clean", "-y", "--state", tmp_path)
    assert [line.split(": ")[1] for line in result.stdout.splitlines()[:-1]] == [own["name"]]
    assert [*cluster.of_pods] == [(name, "db")]
    assert f"delete {name}" not in cluster.calls


@pytest.mark.parametrize("error", [TargetError("no answer"), EndpointError("not understood")])
def test_a_cluster_that_fails_keeps_no_other_from_being_cleaned(
    tmp_path: Path, error: Exception
) -> None:
    class Broken(CannedCluster):
        def namespaces(self, selector: str) -> list[Object]:
            del selector
            raise error

    cluster = CannedCluster()
    left(cluster)
    record(tmp_path)
    wiring = Wiring(pods=lambda target, _seconds: Broken() if target == "kube:lost" else cluster)
    words = ("bench", "clean", "kube:lost", "kube:prod", "-y", "--state", tmp_path)
    result = inside(*words, wiring=wiring)
    assert (result.returncode, result.stderr) == (4, f"Error: {error}\n")
    assert f"Removed run {ID}" in result.stdout
    assert not cluster.of_pods
