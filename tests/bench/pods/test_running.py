"""Generator pods are started, waited for and removed, whatever comes in between."""

import json
from contextlib import suppress
from datetime import datetime, timezone
from typing import Any

import pytest

from tests.bench.pods.canned import CannedCluster, Hurried
from tests.bench.pods.test_plan import RUN, SPACE, plan
from vnicaudit.bench.pods.running import PodRun, generator_pods, leftovers, remove
from vnicaudit.errors import EndpointError, TargetError, VnicauditError

NOW = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)


class Life:
    """One run in a cluster."""

    def __init__(self, *paths: str) -> None:
        self.cluster = CannedCluster()
        self.cluster.networks.add("lab/fast")
        self.clock = Hurried()
        self.said: list[str] = []
        self.is_removed = False
        self.paths = paths or ("pod-same",)

    def _removed(self) -> None:
        self.is_removed = True

    def run(self) -> dict[str, str]:
        made = plan(*self.paths, cluster=self.cluster)
        say = self.said.append
        run = PodRun(self.cluster, made, "me", 7200, say, say, self._removed, self.clock)
        with generator_pods(run) as addresses:
            return dict(addresses)

    def fails(self) -> str:
        with pytest.raises(VnicauditError) as error:
            self.run()
        assert self.is_removed
        assert self.cluster.of_pods == {}
        return str(error.value)


def test_addresses_are_those_of_pods() -> None:
    life = Life()
    assert life.run() == {"a1": "10.0.0.1", "a2": "10.0.0.1"}
    assert life.is_removed
    assert life.cluster.calls == [
        f"create {SPACE}", f"create {SPACE}/a1", f"create {SPACE}/a2",
        f"delete {SPACE}", f"delete {SPACE}/a1", f"delete {SPACE}/a2",
    ]  # fmt: skip
    assert life.said == ["waiting for 2 generator pods", "removing 2 generator pods"]


def test_paths_without_pods_leave_nothing_to_wait_for_and_to_remove() -> None:
    life = Life("host")
    assert life.run() == {}
    assert life.is_removed
    assert (life.said, life.cluster.calls) == ([], [])


def with_networks(*networks: dict[str, object]) -> dict[str, Any]:
    text = json.dumps([{"name": "ovn", "default": True, "ips": ["10.0.0.1"]}, *networks])
    annotations = {"k8s.v1.cni.cncf.io/network-status": text}
    return {"phase": "Running", "podIP": "10.0.0.1", "annotations": annotations}


def at(network: str, address: str) -> dict[str, object]:
    return {"name": network, "ips": [address]}


@pytest.mark.parametrize(
    ("name", "others"),
    [("lab/fast", []), ("fast-bridge", []), ("lab/fast", [at("x/y", "198.51.100.1")])],
)
def test_addresses_in_a_network_are_of_network_status(
    name: str, others: list[dict[str, object]]
) -> None:
    life = Life("nad:lab/fast")
    found = {"net1-a": "192.0.2.7", "net1-b": "192.0.2.8"}
    life.cluster.lives = lambda pod: with_networks(*others, at(name, found[pod]))
    assert life.run() == found


def test_one_address_on_both_nodes_is_told_and_not_measured() -> None:
    life = Life("nad:lab/fast")
    life.cluster.lives = lambda _name: with_networks(at("lab/fast", "192.0.2.7"))
    assert life.fails().startswith("both pods got 192.0.2.7 in lab/fast: its IPAM is per node, as")


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (
            with_networks({"name": "lab/fast"}),
            "lab/fast gives no address: its CNI configuration has no IPAM",
        ),
        (
            with_networks(),
            "generator pod net1-a on n1: 0 of its networks may be lab/fast, instead of one",
        ),
        (
            {"phase": "Running", "podIP": "10.0.0.1"},
            "generator pod net1-a on n1: its annotation k8s.v1.cni.cncf.io/network-status does not",
        ),
    ],
)
def test_a_network_without_an_address(status: dict[str, Any], words: str) -> None:
    life = Life("nad:lab/fast")
    life.cluster.lives = lambda _name: dict(status)
    assert life.fails().startswith(words)


def waits(reason: str, message: str) -> dict[str, Any]:
    state = {"waiting": {"reason": reason, "message": message}}
    return {"phase": "Pending", "containerStatuses": [{"state": state}]}


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (waits("ErrImagePull", "tools: not found"), "ErrImagePull: tools: not found"),
        (
            {"phase": "Pending", "conditions": [{
                "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                "message": "0/2 nodes are available: 2 Insufficient cpu.",
            }]},
            "Unschedulable: 0/2 nodes are available: 2 Insufficient cpu.",
        ),
        (
            {"phase": "Failed", "reason": "OutOfcpu", "message": "no CPU"},
            "it ended: OutOfcpu no CPU",
        ),
        (
            {"phase": "Failed", "containerStatuses": [
                {"state": {"terminated": {"reason": "StartError", "message": "no \x1bsh"}}},
            ]},
            "it ended: no sh",
        ),
        ({"phase": "Succeeded"}, "it ended: Succeeded"),
        (waits("ContainerCreating", ""), "not within 300 s: FailedCreatePodSandBox: no bridge"),
    ],
)  # fmt: skip
def test_a_pod_that_does_not_run(status: dict[str, Any], words: str) -> None:
    life = Life()
    life.cluster.events = [
        {"involvedObject": {"name": name}, "reason": "FailedCreatePodSandBox", "message": text}
        for name, text in (("a1", "at first"), ("a1", "no bridge"), ("a2", "other"))
    ]
    life.cluster.lives = lambda _name: dict(status)
    assert life.fails() == f"generator pod a1 on n1: {words}"


def test_what_a_new_namespace_gets_later_is_waited_for() -> None:
    """Its service account, by a controller."""
    life = Life()
    refusals = ['403: pods "a1" is forbidden: error looking up service account x/default'] * 3

    def call(text: str) -> None:
        if text.endswith("/a1") and text.startswith("create") and refusals:
            raise TargetError(refusals.pop())

    life.cluster.at_call = call
    assert len(life.run()) == 2


def test_a_refusal_is_told_and_what_was_created_is_removed() -> None:
    life = Life()

    def call(text: str) -> None:
        if text == f"create {SPACE}/a2":
            raise TargetError('403: pods "a2" is forbidden: exceeded quota: q')

    life.cluster.at_call = call
    assert life.fails() == '403: pods "a2" is forbidden: exceeded quota: q'


@pytest.mark.parametrize("place", range(3))
def test_interrupted_anywhere_nothing_is_left(place: int) -> None:
    life = Life()

    def call(_text: str) -> None:
        if len(life.cluster.calls) == place + 1:
            raise KeyboardInterrupt

    life.cluster.at_call = call
    with pytest.raises(KeyboardInterrupt):
        life.run()
    assert life.is_removed
    assert life.cluster.of_pods == {}
    assert all(each["metadata"].get("deletionTimestamp") for each in life.cluster.spaces.values())


def test_interrupted_while_it_removes_the_way_on_is_told() -> None:
    life = Life()

    def call(text: str) -> None:
        if text == f"delete {SPACE}/a2":
            raise KeyboardInterrupt

    life.cluster.at_call = call
    with pytest.raises(KeyboardInterrupt):
        life.run()
    assert not life.is_removed
    assert life.said[-1] == (
        f"NOT removed: namespace {SPACE} (KeyboardInterrupt): vnicaudit bench clean removes it, "
        f"and so does, by whoever may: kubectl delete namespace {SPACE}"
    )


def test_pods_that_do_not_end_are_removed_by_force() -> None:
    life = Life()
    life.cluster.goes = False
    life.run()
    assert life.cluster.calls[-2:] == [f"delete {SPACE}/a1 0", f"delete {SPACE}/a2 0"]
    assert 40 < life.clock.now < 60


def test_a_namespace_that_the_cluster_does_not_finish_is_told() -> None:
    life = Life()
    life.cluster.finishes = False
    life.run()
    assert life.is_removed
    assert life.said[-1] == f"namespace {SPACE} is empty, and still being deleted by the cluster"
    assert leftovers(life.cluster, (), (RUN,), NOW) == []


def test_what_cannot_be_removed_is_told() -> None:
    life = Life()
    life.cluster.goes = False

    def call(text: str) -> None:
        if text.endswith(" 0"):
            raise TargetError("the API server cannot be reached")

    life.cluster.at_call = call
    with pytest.raises(TargetError):
        life.run()
    assert not life.is_removed
    assert "(the API server cannot be reached): vnicaudit bench clean" in life.said[-1]
    assert life.clock.now < 200


def test_an_api_server_that_is_away_for_a_while_is_waited_for() -> None:
    life = Life()

    def call(text: str) -> None:
        if text.startswith("delete") and life.clock.now < 20:
            raise TargetError("the API server cannot be reached")

    life.cluster.at_call = call
    assert len(life.run()) == 2
    assert life.is_removed
    assert life.cluster.of_pods == {}


def test_what_went_wrong_first_is_told_as_well_as_what_cannot_be_removed() -> None:
    life = Life()
    life.cluster.lives = lambda _name: waits("ErrImagePull", "tools: not found")

    def call(text: str) -> None:
        if text.startswith("delete"):
            raise TargetError("403: cannot delete", failure="refused")

    life.cluster.at_call = call
    with pytest.raises(EndpointError, match="ErrImagePull: tools: not found"):
        life.run()
    assert life.said[-1].startswith(f"NOT removed: namespace {SPACE} (403: cannot delete): ")
    assert life.clock.now == 0  # it would be refused again


def test_a_pod_on_another_node_is_not_measured() -> None:
    life = Life("pod-cross")
    life.cluster.elsewhere["b1"] = "n1"
    assert life.fails() == "generator pod b1 on n2: the cluster runs it on n1"


def killed(life: Life) -> None:
    """Nothing is removed."""
    life.cluster.at_call = lambda text: (_ for _ in ()).throw(SystemExit) if (
        text.startswith("delete")) else None  # fmt: skip
    with suppress(SystemExit):
        life.run()
    life.cluster.at_call = lambda _text: None


def test_leftovers_are_of_runs_that_are_over() -> None:
    life = Life()
    killed(life)
    cluster = life.cluster
    cluster.spaces["other"] = {"metadata": {"name": "other", "labels": {"vnicaudit/run": RUN}}}
    until = cluster.spaces[SPACE]["metadata"]["annotations"]["vnicaudit/until"]
    (found,) = leftovers(cluster, (), (RUN,), NOW)
    assert (found.name, found.pods, found.at_work) == (SPACE, 2, "")
    (found,) = leftovers(cluster, (RUN,), (), NOW)
    assert found.at_work == "is at work"
    (found,) = leftovers(cluster, (), (), NOW)
    assert found.at_work == (
        f"not a run of this state folder; it may be at work until {until}; if it is dead: kubectl "
        f"delete namespace {SPACE}"
    )
    (found,) = leftovers(cluster, (), (), NOW.replace(year=2100))
    assert not found.at_work
    cluster.spaces[SPACE]["metadata"]["annotations"]["vnicaudit/until"] = "soon"
    (found,) = leftovers(cluster, (), (), NOW.replace(year=2100))
    assert found.at_work
    remove(cluster, RUN, life.clock)
    assert leftovers(cluster, (), (RUN,), NOW) == []
    assert not cluster.of_pods
    assert "deletionTimestamp" not in cluster.spaces["other"]["metadata"]


def test_a_run_that_removes_nothing_but_its_own() -> None:
    life = Life()
    life.cluster.spaces["older"] = {"metadata": {"name": "older", "labels": {
        "app.kubernetes.io/managed-by": "vnicaudit", "vnicaudit/run": "20261129-120000-0001",
    }}}  # fmt: skip
    life.run()
    assert "delete older" not in life.cluster.calls


def test_pods_that_never_go_end_the_removal() -> None:
    life = Life()
    killed(life)
    life.cluster.delete_pod = lambda *_words: None  # type: ignore[method-assign]
    with pytest.raises(EndpointError, match=rf"kube:prod: not removed: {SPACE}/a1, {SPACE}/a2"):
        remove(life.cluster, RUN, life.clock)
