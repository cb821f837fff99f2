"""A cluster is read with the shipped role alone, and whatever is missing is named."""

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.cli.inside import inside
from tests.kube.objects import SECRET, instance_of, interface, small_cluster, virtual_machine
from tests.kube.server import Server
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.platforms.kubevirt.live import lists as live
from vnicaudit.platforms.kubevirt.live.client import Cluster
from vnicaudit.platforms.kubevirt.live.lists import RESOURCES, Lists

pytestmark = pytest.mark.kube
ROOT = Path(__file__).parents[2]
ROLE = YAML(typ="safe").load(ROOT / "docs/how-to/clusters/clusterrole.yaml")["rules"]
LIVE = LiveOptions()


def user(cluster: Server, name: str, rules: list[dict[str, list[str]]]) -> str:
    """The target of an account with these rights."""
    file = cluster.kubeconfig(name, {"token": cluster.account(name, rules)})
    return f"kube:{name}?kubeconfig={file}"


def names(lists: Lists) -> list[str]:
    pages = (page for kind, page in lists.pages if kind == "VirtualMachine")
    return [str(one["metadata"]["name"]) for page in pages for one in page]  # type: ignore[index]


def test_the_shipped_role_is_enough_and_nothing_else_is_asked(cluster: Server) -> None:
    cluster.load(*small_cluster())
    target = user(cluster, "reader", ROLE)
    begin = len(cluster.requests("reader"))
    result = inside("audit", target, "-v")
    assert result.returncode == 1
    assert "VNIC071" in result.stdout
    assert "no right" not in result.stdout
    assert SECRET not in result.stdout + result.stderr
    asked = [
        (one["verb"], one.get("objectRef", {}).get("resource", one["requestURI"]))
        for one in cluster.requests("reader")[begin:]
    ]
    assert asked == [("get", "/apis/"), *(("list", one.plural) for one in RESOURCES)]


def test_each_right_that_is_missing_is_named(cluster: Server) -> None:
    for number, resource in enumerate(RESOURCES):
        rules = [
            {"apiGroups": [one.group], "resources": [one.plural], "verbs": ["list"]}
            for one in RESOURCES
            if one is not resource
        ]
        lists = Lists(Cluster(user(cluster, f"without-{number}", rules), LIVE))
        assert names(lists) == []
        ((plural, reason),) = lists.unread.items()
        assert plural == resource.plural
        assert reason.startswith(f"no right to list {resource.name}: ")


def test_a_certificate_and_one_namespace(cluster: Server) -> None:
    cluster.load(virtual_machine("a"), virtual_machine("b", namespace="mail"))
    shown = cluster.certificate_user("someone", "system:masters")
    file = cluster.kubeconfig("by-certificate", shown)
    whole = f"kube:by-certificate?kubeconfig={file}"
    assert names(Lists(Cluster(whole, LIVE))) == ["b", "a"]
    part = whole.replace("certificate?", "certificate/mail?")
    assert names(Lists(Cluster(part, LIVE))) == ["b"]


def test_a_list_that_expires_goes_on(cluster: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_LIMITS", (2,))
    cluster.load(*(virtual_machine(f"v{number}") for number in range(9)))
    lists = Lists(Cluster(f"kube:admin?kubeconfig={cluster.admin}", LIVE))
    found: list[str] = []
    for kind, page in lists.pages:
        if kind == "VirtualMachine":
            if not found:  # the second page is under way: later ones expire
                cluster.load(virtual_machine("w"))
                cluster.compact()
            found += [str(one["metadata"]["name"]) for one in page]  # type: ignore[index]
    assert found == [*(f"v{number}" for number in range(9)), "w"]
    (note,) = lists.notes
    assert "it is of two moments" in note
    assert lists.unread == {}


def test_a_vm_and_its_instance_are_one(cluster: Server) -> None:
    machine = virtual_machine("a", interface(model="e1000"))
    cluster.load(machine, instance_of(machine))
    result = inside("nics", f"kube:admin?kubeconfig={cluster.admin}", "--format", "json")
    assert result.stdout.count('"domain"') == 1
