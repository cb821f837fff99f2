"""Behind the API server, KubeVirt's stand-ins restart virtual machines, or refuse to; in front of
it, rules of admission refuse objects."""

from collections.abc import Iterator

import pytest

from tests.kube.objects import Object, interface, virtual_machine
from tests.kube.server import Refused, Server
from tests.kube.virt import VMIS, VMS, Course, Virt

pytestmark = pytest.mark.kube
WEB = VMS.format("shop", "web")
RESTART = "/apis/subresources.kubevirt.io/v1/namespaces/shop/virtualmachines/{}/restart"
MODEL = "/spec/template/spec/domain/devices/interfaces/0/model"


def restart(cluster: Server, name: str = "web", **options: object) -> None:
    cluster.ask("PUT", RESTART.format(name), options)


def refused(cluster: Server, name: str = "web", **options: object) -> tuple[int, str]:
    with pytest.raises(Refused) as error:
        restart(cluster, name, **options)
    return error.value.status, error.value.body


def instance(cluster: Server, name: str = "web") -> Object:
    found: Object = cluster.ask("GET", f"{VMIS.format('shop')}/{name}")
    return found


def states(cluster: Server, virt: Virt) -> Iterator[str]:
    """What is seen of the instance, until nothing more happens."""
    while virt.step():
        try:
            found = instance(cluster)
        except Refused:
            yield "none"
            continue
        ends = "deletionTimestamp" in found["metadata"]
        yield "deleted" if ends else f"{found['status']['phase']}"


def test_a_restart_replaces_the_instance(cluster: Server, virt: Virt) -> None:
    virt.run(virtual_machine("web", interface(model="e1000")))
    first = instance(cluster)
    cluster.ask(
        "PATCH", WEB, [{"op": "replace", "path": MODEL, "value": "virtio"}],
        kind="application/json-patch+json",
    )  # fmt: skip
    virt.settle()
    (condition,) = cluster.ask("GET", WEB)["status"]["conditions"]
    assert condition["type"] == "RestartRequired"
    restart(cluster, dryRun=["All"])
    assert virt.asked == []
    restart(cluster)
    assert virt.asked == ["shop/web"]
    assert list(dict.fromkeys(states(cluster, virt))) == [
        "deleted", "none", "Scheduling", "Running",
    ]  # fmt: skip
    second = instance(cluster)
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    assert second["spec"]["domain"]["devices"]["interfaces"][0]["model"] == "virtio"
    vm = cluster.ask("GET", WEB)
    assert vm["status"]["conditions"] == vm["status"]["stateChangeRequests"] == []


@pytest.mark.usefixtures("virt")
@pytest.mark.parametrize("strategy", ["Halted", "Once"])
def test_what_does_not_run_is_not_restarted(cluster: Server, strategy: str) -> None:
    vm = virtual_machine("web")
    vm["spec"]["runStrategy"] = strategy
    cluster.load(vm)
    status, told = refused(cluster)
    assert status == 409
    assert f"RunStategy {strategy} does not support manual restart requests" in told


def test_refusals_of_a_restart(cluster: Server, virt: Virt) -> None:
    assert refused(cluster, "nobody")[0] == 404
    cluster.load(virtual_machine("web"))
    status, told = refused(cluster)
    assert (status, "VM is not running: Halted" in told) == (409, True)
    assert refused(cluster, gracePeriodSeconds=5)[0] == 400
    virt.settle()
    restart(cluster)
    status, told = refused(cluster)
    assert status == 500
    assert "unable to complete request: stop/start already underway" in told


def test_a_restart_is_a_right_of_its_own(cluster: Server, virt: Virt) -> None:
    virt.run(virtual_machine("web"))
    group = {"apiGroups": ["subresources.kubevirt.io"]}
    part = {"resources": ["virtualmachines/restart"], "verbs": ["update"]}
    may, may_not = cluster.account("restarter", [group | part]), cluster.account("idler", [])
    with pytest.raises(Refused) as error:
        cluster.ask("PUT", RESTART.format("web"), {}, token=may_not)
    assert error.value.status == 403
    cluster.ask("PUT", RESTART.format("web"), {}, token=may)
    assert virt.asked == ["shop/web"]


def test_courses(cluster: Server, virt: Virt) -> None:
    virt.run(virtual_machine("web", interface(model="e1000")))
    first = instance(cluster)
    virt.course = Course(ends_before="created")
    restart(cluster)
    virt.settle()
    assert cluster.ask("GET", VMIS.format("shop"))["items"] == []
    virt.course = Course(keeps_nics=True, condition="never goes")
    cluster.ask(
        "PATCH", WEB, [{"op": "replace", "path": MODEL, "value": "virtio"}],
        kind="application/json-patch+json",
    )  # fmt: skip
    virt.settle()
    second = instance(cluster)
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    assert second["spec"]["domain"]["devices"]["interfaces"][0]["model"] == "e1000"
    (condition,) = cluster.ask("GET", WEB)["status"]["conditions"]
    assert condition["type"] == "RestartRequired"


@pytest.mark.parametrize(
    ("nic", "told"),
    [
        (interface(model="vmxnet3"), "interface default uses model vmxnet3 that is not supported."),
        (interface(bridge={}), "logical default interface must have exactly one binding method"),
    ],
)
def test_strange_nics_are_refused_in_a_dry_run(guarded: Server, nic: Object, told: str) -> None:
    machines = VMS.format("guarded", "")
    usual, strange = (
        virtual_machine("web", one, namespace="guarded") for one in (interface(), nic)
    )
    guarded.ask("POST", machines, usual, dryRun="All")
    with pytest.raises(Refused, match=told) as error:
        guarded.ask("POST", machines, strange, dryRun="All")
    assert error.value.status == 422
