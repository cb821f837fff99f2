"""Behind the API server, KubeVirt's stand-ins restart virtual machines, or refuse to; in front of
it, rules of admission refuse objects."""

import pytest

from tests.kube.objects import Object, interface, virtual_machine
from tests.kube.server import Refused, Server
from tests.kube.virt import VMS, Virt

pytestmark = pytest.mark.kube
RESTART = "/apis/subresources.kubevirt.io/v1/namespaces/shop/virtualmachines/{}/restart"


def restart(cluster: Server, name: str = "web", **options: object) -> None:
    cluster.ask("PUT", RESTART.format(name), options)


def refused(cluster: Server, name: str = "web", **options: object) -> tuple[int, str]:
    with pytest.raises(Refused) as error:
        restart(cluster, name, **options)
    return error.value.status, error.value.body


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
