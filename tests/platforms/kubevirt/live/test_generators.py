"""A cluster for generator pods: how it is named, and what is sent to it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.platforms.kubevirt.live.api_server import (
    Asked,
    FakeServer,
    Reply,
    kubeconfig,
    served,
    status,
)
from tests.rows import rows
from vnicaudit.errors import TargetError, UsageError
from vnicaudit.platforms.kubevirt.live import client
from vnicaudit.platforms.kubevirt.live.generators import GeneratorCluster


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with served(FakeServer()) as running:
        yield running


@pytest.fixture
def cluster(server: FakeServer, tmp_path: Path) -> GeneratorCluster:
    file = kubeconfig(tmp_path / "config", server.url, "prod", "other")
    return GeneratorCluster(f"kube:?kubeconfig={file}", 5)


def test_the_target_is_lasting_and_names_its_context(
    cluster: GeneratorCluster, tmp_path: Path, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cluster.target == f"kube:prod?kubeconfig={tmp_path}/config"
    assert (cluster.context, cluster.server) == ("prod", server.url)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a b").mkdir()
    kubeconfig(tmp_path / "a b/c", server.url)
    found = GeneratorCluster("kube:prod?kubeconfig=a%20b/c", 5)
    assert found.target == f"kube:prod?kubeconfig={tmp_path}/a%20b/c"
    assert GeneratorCluster(found.target, 5).context == "prod"
    monkeypatch.setenv("KUBECONFIG", "a b/c")
    assert GeneratorCluster("kube:prod", 5).target == found.target


@rows
def test_targets_that_make_no_sense(
    cluster: GeneratorCluster, tmp_path: Path, target: str, words: str
) -> None:
    assert cluster
    with pytest.raises(UsageError) as error:
        GeneratorCluster(target.replace("{}", str(tmp_path / "config")), 5)
    assert words in str(error.value)


def test_lists_are_read_to_their_end(
    cluster: GeneratorCluster, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vnicaudit.platforms.kubevirt.live.generators._PAGE", "2")
    server.lists["v1/nodes"] = [{"metadata": {"name": name}} for name in "abcde"]
    assert [one["metadata"] for one in cluster.nodes()] == [{"name": name} for name in "abcde"]


def answering(server: FakeServer, *replies: Reply) -> list[Asked]:
    """What is asked from now on, and answered so."""
    asked: list[Asked] = []
    ahead = iter(replies)

    def intercept(one: Asked) -> Reply | None:
        asked.append(one)
        return next(ahead, None)

    server.intercept = intercept
    return asked


def test_a_request_whose_answer_was_lost_is_no_error(
    cluster: GeneratorCluster, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "sleep", lambda _seconds: None)
    exists = status(409, "AlreadyExists", 'pods "a1" already exists')
    asked = answering(server, Reply(502, b"Bad Gateway"), exists)
    cluster.create_pod("x", {"metadata": {"name": "a1"}})
    assert [one.method for one in asked] == ["POST", "POST"]


def test_a_conflict_of_another_kind_is_an_error(
    cluster: GeneratorCluster, server: FakeServer
) -> None:
    """The pod was not created: its quota was changed by somebody at the same time."""
    answering(server, status(409, "Conflict", 'cannot be fulfilled on resourcequotas "q"'))
    with pytest.raises(TargetError, match="cannot be fulfilled on resourcequotas"):
        cluster.create_pod("x", {"metadata": {"name": "a1"}})


def test_a_namespace_that_is_being_deleted_needs_no_deleting(
    cluster: GeneratorCluster, server: FakeServer
) -> None:
    words = "The system is ensuring all content is removed from this namespace."
    asked = answering(server, status(409, "Conflict", words))
    cluster.delete_namespace("x")
    assert [one.method for one in asked] == ["DELETE"]


@pytest.mark.parametrize(
    "delete",
    [
        lambda cluster: cluster.delete_pod("x", "a1", 0),
        lambda cluster: cluster.delete_namespace("x"),
    ],
)
def test_what_is_gone_needs_no_deleting(
    cluster: GeneratorCluster, server: FakeServer, delete: Callable[[Any], None]
) -> None:
    asked = answering(server, status(404, "NotFound", "not found"))
    delete(cluster)
    assert [one.method for one in asked] == ["DELETE"]
    assert asked[0].query == ({"gracePeriodSeconds": "0"} if "/pods/" in asked[0].path else {})


@rows
def test_a_right_that_is_missing_is_told_with_the_role(
    cluster: GeneratorCluster, server: FakeServer, message: str, is_hinted: bool
) -> None:
    answering(server, status(403, "Forbidden", message))
    with pytest.raises(TargetError) as error:
        cluster.create_pod("x", {})
    assert message in str(error.value)
    assert ("bench-role.yaml" in str(error.value)) == is_hinted
