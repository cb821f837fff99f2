"""``vnicaudit bench clean``: what it removes, keeps and forgets, by what a cluster says."""

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.bench.pods.canned import CannedCluster, Object
from tests.cli.inside import inside
from vnicaudit.bench.pods.records import PodsRecord, known_runs, recorded
from vnicaudit.cli.wiring import Wiring
from vnicaudit.errors import EndpointError, TargetError

RUN = "20261130-120000-0001"
SPACE = f"vnicaudit-bench-{RUN}"
FAR = "2999-01-01T00:00:00+00:00"


def space(name: str = SPACE, run: str = RUN, until: str = FAR) -> Object:
    labels = {"app.kubernetes.io/managed-by": "vnicaudit", "vnicaudit/run": run}
    annotations = {"vnicaudit/owner": "me@there", "vnicaudit/until": until}
    return {"metadata": {"name": name, "labels": labels, "annotations": annotations}}


class User:
    """One with a state folder, and one cluster."""

    def __init__(self, folder: Path) -> None:
        self.state = folder
        self.cluster = CannedCluster()

    def killed(self, target: str = "kube:prod", server: str = CannedCluster.server) -> None:
        """A run was killed, and has left a namespace."""
        with recorded(self.state, PodsRecord(RUN, target, server)):
            pass
        self.cluster.spaces[SPACE] = space()

    def cleans(self, *words: str) -> "CompletedProcess[str]":
        return self.cleans_in(lambda _target: self.cluster, *words)

    def cleans_in(
        self, cluster: Callable[[str], CannedCluster], *words: str
    ) -> "CompletedProcess[str]":
        wiring = Wiring(pods=lambda target, _deadline: cluster(target))
        return inside("bench", "clean", *words, "--yes", "--state", self.state, wiring=wiring)

    @property
    def removed(self) -> list[str]:
        return [each.partition(" ")[2] for each in self.cluster.calls if each.startswith("delete")]


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


def test_what_a_killed_run_left_is_removed_and_forgotten(user: User) -> None:
    user.killed()
    done = user.cleans()
    assert done.stdout == (
        f"kube:prod: {SPACE}: 0 pods, left (me@there)\nRemoved run {RUN} from kube:prod\n"
    )
    assert (done.returncode, user.removed) == (0, [SPACE])
    assert known_runs(user.state) == ((), ())


def test_nothing_is_left(user: User) -> None:
    done = user.cleans("kube:prod")
    assert (done.returncode, done.stdout) == (0, "No generator pods are left\n")


def test_a_run_at_work_is_kept_and_not_told_to_be_gone(user: User) -> None:
    user.cluster.spaces[SPACE] = space()
    with recorded(user.state, PodsRecord(RUN, "kube:prod", CannedCluster.server)):
        done = user.cleans("kube:prod")
    assert done.stdout == f"kube:prod: {SPACE}: 0 pods, kept: is at work (me@there)\n"
    assert (done.returncode, user.removed) == (0, [])


def test_a_run_of_another_machine_is_kept_until_its_pods_end(user: User) -> None:
    user.cluster.spaces[SPACE] = space()
    assert f"it may be at work until {FAR}" in user.cleans("kube:prod").stdout
    assert user.removed == []
    user.cluster.spaces[SPACE] = space(until="2026-01-01T00:00:00+00:00")
    assert "Removed run" in user.cleans("kube:prod").stdout


@pytest.mark.parametrize("name", ["shop", f"{SPACE}-shop", "vnicaudit-bench-other"])
def test_a_namespace_of_another_name_is_kept_whatever_its_labels(user: User, name: str) -> None:
    """Somebody has given his own our labels."""
    user.killed()
    user.cluster.spaces[name] = space(name)
    user.cluster.of_pods[name, "db"] = {"metadata": {"name": "db", "namespace": name}}
    done = user.cleans()
    assert (done.returncode, user.removed) == (0, [SPACE])
    assert [one.split(": ")[1] for one in done.stdout.splitlines()[:-1]] == [SPACE]
    assert (name, "db") in user.cluster.of_pods


def test_a_context_that_leads_to_another_cluster_by_now(user: User) -> None:
    """The run was in another one: there it may be at work, and its record is kept."""
    user.killed(server="https://198.51.100.1:6443")
    done = user.cleans("kube:prod")
    assert user.removed == []
    assert "does not lead any more: name its cluster, kube:CONTEXT" in done.stderr
    assert [each.run for each in known_runs(user.state).dead] == [RUN]


@pytest.mark.parametrize("error", [TargetError("no answer"), EndpointError("not understood")])
def test_a_cluster_that_fails_keeps_no_other_from_being_cleaned(
    user: User, error: Exception
) -> None:
    def opened(target: str) -> CannedCluster:
        if target == "kube:lost":
            raise error
        return user.cluster

    user.killed()
    done = user.cleans_in(opened, "kube:lost", "kube:prod")
    assert (done.returncode, user.removed) == (4, [SPACE])
    assert done.stderr == f"Error: {error}\n"
    assert "Removed run" in done.stdout
