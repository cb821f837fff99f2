"""Requests that change objects of a cluster, as they come to its API server."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.platforms.kubevirt.live.api_server import (
    Asked,
    FakeServer,
    Reply,
    kubeconfig,
    served,
    status,
    vm,
)
from tests.rows import rows
from vnicaudit.errors import ActionError, GoneError, NoResponseError, RefusedError, VnicauditError
from vnicaudit.platforms.kubevirt.live import client
from vnicaudit.platforms.kubevirt.live.changes import ClusterPlace

VM = "/apis/kubevirt.io/v1/namespaces/web/virtualmachines/a"
RESTART = "/apis/subresources.kubevirt.io/v1/namespaces/web/virtualmachines/a/restart"
PATCH = [{"op": "remove", "path": "/spec/config"}]


@pytest.fixture
def server() -> Iterator[FakeServer]:
    server = FakeServer()
    for path in ("kubevirt.io/v1/virtualmachines", "subresources.kubevirt.io/v1/none",
                 "k8s.cni.cncf.io/v1/network-attachment-definitions",
                 "instancetype.kubevirt.io/v1beta1/virtualmachinepreferences"):  # fmt: skip
        server.lists[path] = []
    with served(server):
        yield server


@pytest.fixture
def place(server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClusterPlace:
    monkeypatch.setattr(client, "sleep", lambda _seconds: None)
    file = kubeconfig(tmp_path / "config", server.url)
    found = ClusterPlace(f"kube:prod?kubeconfig={file}", 20)
    server.asked.clear()
    return found


def answers(server: FakeServer, reply: Reply) -> None:
    server.intercept = lambda _asked: reply


def found_as(one: object, *headers: tuple[str, str]) -> Reply:
    return Reply(200, json.dumps(one).encode(), headers)


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_patch_is_strict_and_of_json(
    server: FakeServer, place: ClusterPlace, *, dry_run: bool
) -> None:
    answers(server, found_as(vm("a")))
    found, warnings = place.patch("kube-vm", "web", "a", PATCH, dry_run=dry_run)
    (asked,) = server.asked
    assert (asked.method, asked.path, asked.kind) == ("PATCH", VM, "application/json-patch+json")
    query = {"fieldManager": "vnicaudit", "fieldValidation": "Strict"}
    assert asked.query == (query | {"dryRun": "All"} if dry_run else query)
    assert json.loads(asked.body) == PATCH
    assert warnings == ()
    assert "planted" not in json.dumps(found)
    assert "managedFields" not in json.dumps(found)


def test_warnings_of_the_server_are_handed_on(server: FakeServer, place: ClusterPlace) -> None:
    told = ('299 - "unknown field \\"spec.x\\""', '299 kubevirt "it is, deprecated"')
    answers(server, found_as(vm("a"), *(("Warning", one) for one in told)))
    _found, warnings = place.patch("kube-vm", "web", "a", PATCH)
    assert warnings == ('unknown field "spec.x"', "it is, deprecated")


@rows
def test_each_kind_has_its_place(
    server: FakeServer, place: ClusterPlace, kind: str, space: str, path: str
) -> None:
    answers(server, found_as(vm("a")))
    assert place.get(kind, space, "a")["metadata"]
    place.patch(kind, space, "a", PATCH)
    assert [(one.method, one.path) for one in server.asked] == [("GET", path), ("PATCH", path)]


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_restart_is_asked_for_and_answers_nothing(
    server: FakeServer, place: ClusterPlace, *, dry_run: bool
) -> None:
    answers(server, Reply(202, b""))
    place.restart("web", "a", dry_run=dry_run)
    (asked,) = server.asked
    assert (asked.method, asked.path) == ("PUT", RESTART)
    assert json.loads(asked.body) == ({"dryRun": ["All"]} if dry_run else {})


def test_a_virtual_machine_may_have_no_instance(server: FakeServer, place: ClusterPlace) -> None:
    answers(server, status(404, "NotFound", 'virtualmachineinstances.kubevirt.io "a" not found'))
    assert place.instance("web", "a") is None


def _patches(place: ClusterPlace) -> object:
    return place.patch("kube-vm", "web", "a", PATCH)


def _restarts(place: ClusterPlace) -> object:
    place.restart("web", "a")
    return None


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (status(404, "NotFound", "not found"), GoneError),
        (status(403, "Forbidden", "forbidden: User cannot patch"), RefusedError),
        (status(409, "Conflict", "it is halted"), RefusedError),
        (status(422, "Invalid", "igb is not supported"), RefusedError),
        (status(401, "Unauthorized", "Unauthorized"), NoResponseError),
        (status(429, "TooManyRequests", "too many"), NoResponseError),
        (status(500, "InternalError", "etcdserver: request timed out"), NoResponseError),
        (status(500, "InternalError", 'failed calling webhook "a.example"'), RefusedError),
        (status(405, "MethodNotAllowed", "no"), ActionError),
    ],
)
@pytest.mark.parametrize("asks", [_patches, _restarts])
def test_what_an_answer_means(
    server: FakeServer, place: ClusterPlace, asks: Callable[[ClusterPlace], object], reply: Reply,
    error: type[VnicauditError],
) -> None:  # fmt: skip
    answers(server, reply)
    with pytest.raises(error) as caught:
        asks(place)
    assert type(caught.value) is error
    assert json.loads(reply.body)["message"] in str(caught.value)


def test_a_server_that_is_busy_is_asked_again(server: FakeServer, place: ClusterPlace) -> None:
    replies = iter([status(429, "TooManyRequests", "too many"), found_as(vm("a"))])
    intercept: Callable[[Asked], Reply] = lambda _asked: next(replies)  # noqa: E731
    server.intercept = intercept
    place.patch("kube-vm", "web", "a", PATCH)
    assert len(server.asked) == 2


def test_without_virt_api_nothing_is_restarted(server: FakeServer, tmp_path: Path) -> None:
    del server.lists["subresources.kubevirt.io/v1/none"]
    file = kubeconfig(tmp_path / "config", server.url)
    place = ClusterPlace(f"kube:prod?kubeconfig={file}", 20)
    with pytest.raises(RefusedError, match=r"does not serve subresources\.kubevirt\.io"):
        place.restart("web", "a")


def test_the_command_for_a_restart_names_the_cluster(
    server: FakeServer, tmp_path: Path, place: ClusterPlace
) -> None:
    assert place.identity() == server.url
    words = f"virtctl --kubeconfig {tmp_path}/config --context prod restart a -n web"
    assert place.virtctl("restart a -n web") == words
