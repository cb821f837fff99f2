"""Which nodes generator pods run on, and what is said of the others."""

from typing import Any

import pytest

from tests.bench.pods.canned import node
from tests.rows import rows
from vnicaudit.bench.pods.nodes import NodeChoice, chosen_nodes, node_of
from vnicaudit.errors import EndpointError, UsageError

CONTROL = {"node-role.kubernetes.io/control-plane": ""}


def control_plane(name: str) -> dict[str, Any]:
    found = node(name)
    found["metadata"]["labels"] |= CONTROL
    return found


def not_ready(name: str) -> dict[str, Any]:
    found = node(name)
    found["status"]["conditions"][0]["status"] = "Unknown"
    return found


ALL = (
    control_plane("a"), not_ready("b"), node("c", cordoned=True), node("d", taint="gpu"),
    node("e", arch="s390x"), node("f", os="windows"), node("n2"), node("n1"),
)  # fmt: skip


def choice(*nodes: dict[str, Any], names: str = "", number: int = 2, first: str = "") -> NodeChoice:
    wanted = names.split(",") if names else ()
    return chosen_nodes([node_of(each) for each in nodes], wanted, number, first)


def names(found: NodeChoice) -> list[str]:
    return [each.name for each in found.nodes]


def test_workers_on_which_pods_may_run_by_name() -> None:
    found = choice(*ALL)
    assert names(found) == ["n1", "n2"]
    assert found.reason == (
        "the first by name of 2 workers that are ready, schedulable and not tainted (amd64); not "
        "a (control plane), b (not ready), c (cordoned), d (taint gpu:NoSchedule), e (s390x) and "
        "1 more"
    )


def test_of_one_architecture_the_most_frequent() -> None:
    nodes = (node("a", arch="s390x"), node("b"), node("c", arch="s390x"), node("d", arch="arm64"))
    assert names(choice(*nodes)) == ["a", "c"]


def test_the_control_plane_where_there_is_nothing_else() -> None:
    found = choice(control_plane("a"), node("b"))
    assert names(found) == ["a", "b"]
    assert "of 2 nodes that are ready" in found.reason


@pytest.mark.parametrize("first", ["n2", "z"])
def test_the_node_of_a_virtual_machine_comes_first(first: str) -> None:
    nodes = (node("n1"), node("n2"), node("z", arch="s390x"), node("y", arch="s390x"))
    found = choice(*nodes, first=first)
    assert names(found) == ["n2", "n1"] if first == "n2" else ["z", "y"]
    assert found.reason.startswith(f"{first} has the virtual machine; otherwise the first by name")
    assert names(choice(*nodes, number=1, first=first)) == [first]


def test_a_virtual_machine_where_no_pod_can_run() -> None:
    with pytest.raises(EndpointError, match=r"runs on d, where no .*: taint gpu:NoSchedule"):
        choice(*ALL, first="d")
    with pytest.raises(EndpointError, match="there is no such node"):
        choice(*ALL, first="nowhere")


def test_too_few() -> None:
    with pytest.raises(EndpointError) as error:
        choice(node("n1"), node("n2", arch="arm64"), node("n3", cordoned=True))
    assert str(error.value) == (
        "these paths need 2 nodes of one architecture on which pods may run; there is 1; not "
        "n2 (arm64), n3 (cordoned)"
    )
    assert names(choice(node("n1"), number=1)) == ["n1"]


def test_as_asked() -> None:
    assert names(choice(*ALL, names="n2,a")) == ["n2", "a"]
    assert names(choice(*ALL, names="n1,n2", first="n2")) == ["n2", "n1"]


@rows
def test_asked_for_what_cannot_be(asked: str, words: str) -> None:
    with pytest.raises(UsageError) as error:
        choice(*ALL, names=asked)
    assert words in str(error.value)


def test_asked_for_nodes_of_two_architectures_is_told() -> None:
    found = choice(node("n1", arch="arm64"), node("n2"), names="n1,n2")
    assert found.reason == "as asked for; their architectures differ: arm64, amd64"


def test_nodes_that_are_about_to_go_or_have_no_network() -> None:
    going, cut_off = node("n1"), node("n2")
    going["metadata"]["deletionTimestamp"] = "2026-11-30T12:00:00Z"
    cut_off["status"]["conditions"].append({"type": "NetworkUnavailable", "status": "True"})
    found = choice(going, cut_off, node("n3"), number=1)
    assert names(found) == ["n3"]
    assert found.reason.endswith("n1 (being deleted), n2 (its network is unavailable)")


def test_asked_for_other_nodes_than_that_of_the_virtual_machine() -> None:
    with pytest.raises(UsageError, match="runs on n3, which has to be one of them"):
        choice(node("n1"), node("n2"), node("n3"), names="n1,n2", first="n3")
