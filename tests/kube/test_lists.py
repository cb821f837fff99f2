"""Lists of a real API server are followed to their end."""

import pytest

from tests.cli.inside import inside
from tests.kube.objects import instance_of, interface, virtual_machine
from tests.kube.server import Server
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.platforms.kubevirt.live import lists as live
from vnicaudit.platforms.kubevirt.live.client import Cluster
from vnicaudit.platforms.kubevirt.live.lists import Lists

pytestmark = pytest.mark.kube
LIVE = LiveOptions()


def names(lists: Lists) -> list[str]:
    pages = (page for kind, page in lists.pages if kind == "VirtualMachine")
    return [str(one["metadata"]["name"]) for page in pages for one in page]  # type: ignore[index]


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
