"""The API server does what tests of clusters rely on: pages, errors, rights, dry runs."""

import pytest

from tests.kube.objects import instance_of, small_cluster, virtual_machine
from tests.kube.server import Refused, Server

pytestmark = pytest.mark.kube
VMS = "/apis/kubevirt.io/v1/namespaces/shop/virtualmachines"
VMIS = VMS.replace("machines", "machineinstances")
READER = [{"apiGroups": ["kubevirt.io"], "resources": ["virtualmachines"], "verbs": ["list"]}]
MODEL = "/spec/template/spec/domain/devices/interfaces/0/model"
PATCH = "application/json-patch+json"


def names(page: dict[str, list[dict[str, dict[str, str]]]]) -> list[str]:
    return [one["metadata"]["name"] for one in page["items"]]


def status_of(cluster: Server, method: str, path: str, *words: object, **more: str) -> int:
    with pytest.raises(Refused) as error:
        cluster.ask(method, path, *words, **more)
    return error.value.status


def test_a_list_comes_in_pages(cluster: Server) -> None:
    cluster.load(*(virtual_machine(name) for name in "abc"))
    first = cluster.ask("GET", VMS, limit="2")
    second = cluster.ask("GET", VMS, limit="2", **{"continue": first["metadata"]["continue"]})
    assert (names(first), names(second)) == (["a", "b"], ["c"])
    assert not second["metadata"].get("continue")


def test_a_token_expires_with_etcds_past_and_another_comes_with_the_error(cluster: Server) -> None:
    cluster.load(*(virtual_machine(name) for name in "abc"))
    token = cluster.ask("GET", VMS, limit="2")["metadata"]["continue"]
    cluster.load(virtual_machine("d"))
    cluster.compact()
    with pytest.raises(Refused) as error:
        cluster.ask("GET", VMS, **{"continue": token})
    assert error.value.status == 410
    assert error.value.reason == "Expired"
    rest = cluster.ask("GET", VMS, **{"continue": error.value.token})
    assert names(rest) == ["c", "d"]


def test_owners_are_told_by_the_uids_of_the_server(cluster: Server) -> None:
    vm = virtual_machine("a")
    cluster.load({"kind": "List", "items": [vm, instance_of(vm)]})
    (owner,) = cluster.ask("GET", f"{VMIS}/a")["metadata"]["ownerReferences"]
    assert owner["uid"] == cluster.ask("GET", f"{VMS}/a")["metadata"]["uid"]


def test_patches_are_guarded_and_tried_out(cluster: Server) -> None:
    cluster.load(*small_cluster())
    old = {"op": "test", "path": MODEL, "value": "e1000"}
    new = {"op": "replace", "path": MODEL, "value": "virtio"}
    cluster.ask("PATCH", f"{VMS}/web", [old, new], kind=PATCH, dryRun="All")
    cluster.ask("PATCH", f"{VMS}/web", [old, new], kind=PATCH)  # so it was still the old one
    assert status_of(cluster, "PATCH", f"{VMS}/web", [old, new], kind=PATCH) == 422
    stale = {"metadata": {"resourceVersion": "1"}}
    merge = "application/merge-patch+json"
    assert status_of(cluster, "PATCH", f"{VMS}/web", stale, kind=merge) == 409


def test_rights_are_what_was_granted_and_what_was_asked_for_is_known(cluster: Server) -> None:
    token = cluster.account("lister", READER)
    cluster.ask("GET", "/apis/kubevirt.io/v1/virtualmachines", token=token)
    assert status_of(cluster, "GET", "/api/v1/nodes", token=token) == 403
    assert status_of(cluster, "GET", VMS, token="nobody's") == 401
    asked = cluster.requests("lister")
    assert [(one["verb"], one["objectRef"]["resource"]) for one in asked[-2:]] == [
        ("list", "virtualmachines"), ("list", "nodes"),
    ]  # fmt: skip


def test_rights_may_be_those_of_one_namespace(cluster: Server) -> None:
    cluster.namespace("shop")
    token = cluster.account("reader-of-shop", READER, namespace="shop")
    assert cluster.ask("GET", VMS, token=token)["items"] == []
    assert status_of(cluster, "GET", "/apis/kubevirt.io/v1/virtualmachines", token=token) == 403
