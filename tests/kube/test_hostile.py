"""Objects that a cluster's users made to harm whoever reads them; and very many objects."""

import json
import resource
import time

import pytest

from tests.cli.inside import inside
from tests.kube.objects import (
    SECRET,
    Object,
    attachment,
    instance_of,
    interface,
    small_cluster,
    virtual_machine,
)
from tests.kube.server import KUBEVIRTS, Server, our_definitions
from tests.kube.test_rights import FOUND

pytestmark = pytest.mark.kube
CONTROL = "\x1b[2J\x1b]0;owned\x07‮"
BOMBS = ("[" * 200_000, '{"a":' * 100_000, '{"mtu": 1' + "0" * 100_000 + "}", "\x00", CONTROL)


def audited(cluster: Server, *words: str) -> str:
    return inside("audit", f"kube:admin?kubeconfig={cluster.admin}", *words).stdout


def hostile_machine() -> Object:
    """A megabyte of annotation, and a terminal's commands wherever a text may stand."""
    vm = virtual_machine("odd", interface(CONTROL, model=CONTROL), interface(model="e1000"))
    vm["metadata"]["annotations"] = {"a": "x" * 200_000, "description": CONTROL}
    vm["spec"]["template"]["metadata"] = {"annotations": {"a": "y" * 1_000_000, "b": CONTROL}}
    return vm


def test_what_is_hostile_is_told_in_plain_text_and_the_rest_is_judged(cluster: Server) -> None:
    odd = hostile_machine()
    nads = [attachment(f"bomb-{number}", config=text) for number, text in enumerate(BOMBS)]
    cluster.load(*small_cluster(), odd, *nads)
    before = resource.getrusage(resource.RUSAGE_SELF)
    for words in ([], ["--format", "json"]):
        told = audited(cluster, *words)
        assert "\x1b" not in told
        assert "\x07" not in told
        assert SECRET not in told
        assert "shop/web" in told
        assert "shop/odd" in told
        assert "x" * 1000 not in told
    assert FOUND in audited(cluster)
    used = resource.getrusage(resource.RUSAGE_SELF)
    assert used.ru_utime - before.ru_utime < 20


def test_ten_thousand_interfaces(cluster: Server) -> None:
    """Half a megabyte: the server takes no object of more than one and a half."""
    names = [interface(f"n{number}") for number in range(10_000)]
    vm = virtual_machine("wide", *names)
    vm["spec"]["template"]["spec"]["networks"] = []
    cluster.load(vm)
    assert "shop/wide" in audited(cluster, "--format", "json")


@pytest.mark.skipif(not KUBEVIRTS.is_dir(), reason="KubeVirt's own definitions are not here")
def test_kubevirts_own_definitions_take_our_objects(cluster: Server) -> None:
    """What our definitions let pass is what a cluster would have: nothing of it is pruned."""
    cluster.load(*small_cluster())
    ours = audited(cluster)
    cluster.unload()
    cluster.define_kubevirts()
    try:
        cluster.load(*small_cluster())
        assert audited(cluster) == ours
    finally:
        cluster.unload()
        cluster.define(our_definitions())


@pytest.mark.long
def test_five_thousand_machines(cluster: Server) -> None:
    """Two milliseconds of CPU for each machine with its instance, at most."""
    machines = [virtual_machine(f"vm-{number:04}") for number in range(5_000)]
    cluster.load(*(one for vm in machines for one in (vm, instance_of(vm))))
    began = time.process_time()
    report = json.loads(audited(cluster, "--format", "json"))
    used = time.process_time() - began
    assert report["summary"]["domains"] == len(machines)
    assert used < 2e-3 * len(machines)
