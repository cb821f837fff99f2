"""What an audit is given of a cluster."""

import json
from pathlib import Path

import pytest

from tests.cli.inside import inside
from tests.platforms.kubevirt.live.api_server import FakeServer, Item, status, vm
from vnicaudit.model.cluster import ClusterFacts
from vnicaudit.model.domain import ClusterDomain
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.model.kubevirt import Preference
from vnicaudit.model.report import NotJudged, ReadError
from vnicaudit.platforms.kubevirt.live.read import read as read_cluster

API = "kubevirt.io/v1"


def instance(name: str, owner: str = "", model: str = "virtio") -> Item:
    """A running instance, of a VM with that UID or of nobody."""
    made = vm(name, model=model)
    owners = [{"kind": "VirtualMachine", "name": name, "uid": owner, "controller": True}]
    return {
        "apiVersion": API,
        "kind": "VirtualMachineInstance",
        "metadata": {
            "name": name, "namespace": "web", "uid": f"vmi-{name}",
            "ownerReferences": owners if owner else [],
        },
        "spec": made["spec"]["template"]["spec"],
        "status": {"phase": "Running"},
    }  # fmt: skip


def network(name: str, config: str) -> Item:
    metadata = {"name": name, "namespace": "web", "uid": f"n-{name}"}
    return {"metadata": metadata, "spec": {"config": config}}


def preference(name: str, model: str) -> Item:
    return {
        "metadata": {"name": name, "uid": f"p-{name}"},
        "spec": {"devices": {"preferredInterfaceModel": model}},
    }


def items(cluster: FakeServer) -> list[object]:
    found: list[object] = [*read_cluster("kube:prod", LiveOptions())]
    assert "planted" not in repr(found)
    assert cluster.token not in repr(found)
    return found


def domains(found: list[object]) -> list[ClusterDomain]:
    return [one for one in found if isinstance(one, ClusterDomain)]


def test_a_vm_and_its_instance_are_one(cluster: FakeServer) -> None:
    cluster.lists[f"{API}/virtualmachines"] = [vm("a"), vm("b")]
    cluster.lists[f"{API}/virtualmachineinstances"] = [
        instance("renamed", "uid-web-a"), instance("alone"),
    ]  # fmt: skip
    found = items(cluster)
    told = {one.name: one.guest.runs for one in domains(found) if one.guest is not None}
    assert told == {"web/a": True, "web/b": False, "web/alone": True}
    assert sum(isinstance(one, ClusterFacts) for one in found) == 1
    place = domains(found)[0].nics[0].location
    assert (place.target, place.file, place.line) == ("kube:prod", None, None)
    assert place.xpath == "[web/a]/spec/template/spec/domain/devices/interfaces/0"
    assert (str(place), place.object) == ("kube:prod web/a", "web/a")
    assert place.pointer == "/spec/template/spec/domain/devices/interfaces/0"


def test_findings_of_networks_name_them_and_keep_their_fingerprints(
    cluster: FakeServer, tmp_path: Path
) -> None:
    path = "k8s.cni.cncf.io/v1/network-attachment-definitions"
    cluster.lists[path] = [network("one", "[]"), network("two", "[]")]
    cluster.lists[f"{API}/virtualmachines"] = [vm("a")]

    def told() -> dict[str, str]:
        report = json.loads(inside("audit", "kube:", "--format", "json", cwd=tmp_path).stdout)
        found = [one for one in report["findings"] if one["rule"] == "VNIC208"]
        return {one["location"]["xpath"]: one["fingerprint"] for one in found}

    prints = told()
    assert [*prints] == ["[web/one]/spec/config", "[web/two]/spec/config"]
    assert len({*prints.values()}) == 2
    cluster.lists[f"{API}/kubevirts"] = [{"metadata": {"name": "k", "namespace": "k", "uid": "k"}}]
    assert told() == prints
    shown = inside("audit", "kube:", "--format", "concise", cwd=tmp_path).stdout
    assert "kube:prod web/two" in shown


def test_only_preferences_that_vms_refer_to_are_judged(cluster: FakeServer) -> None:
    path = "instancetype.kubevirt.io/v1beta1/virtualmachineclusterpreferences"
    cluster.lists[path] = [preference("used", "e1000e"), preference("unused", "e1000")]
    machine = vm("a")
    machine["spec"]["preference"] = {"name": "used"}
    cluster.lists[f"{API}/virtualmachines"] = [machine]
    found = items(cluster)
    assert [one.name for one in found if isinstance(one, Preference)] == ["used"]


def test_what_was_not_read_is_told(cluster: FakeServer) -> None:
    cluster.forbidden = {"virtualmachines", "nodes"}
    found = items(cluster)
    (error,) = (one for one in found if isinstance(one, ReadError))
    (note,) = (one for one in found if isinstance(one, NotJudged))
    assert error.message.startswith("no right to list virtualmachines.kubevirt.io: no virtual")
    assert (note.file, note.line) == ("kube:prod", 0)
    assert note.message.startswith("no right to list nodes: rules that need it are skipped.")


def test_objects_that_say_too_little_are_told(cluster: FakeServer) -> None:
    long = network("long", '{"type": "bridge", "x": "' + "A" * 70_000 + '"}')
    cluster.lists["k8s.cni.cncf.io/v1/network-attachment-definitions"] = [network("n", "{}"), long]
    labels = {"kubevirt.io/schedulable": "true"}
    cluster.lists["v1/nodes"] = [{"metadata": {"name": "n1", "uid": "n1", "labels": labels}}]
    cluster.lists[f"{API}/virtualmachines"] = [vm("a")]
    cluster.lists[f"{API}/virtualmachineinstances"] = [
        instance("a", "uid-web-a"), instance("orphan", "uid-gone"), instance("alone"),
    ]  # fmt: skip
    assert [one for one in items(cluster) if isinstance(one, NotJudged)] == [
        NotJudged(message, "kube:prod", 0)
        for message in (
            "network web/long: its configuration is made by a template, or too long: not judged",
            "node n1 does not say what it offers (status.allocatable): not judged",
            "instance web/orphan: the virtual machine that owns it is not there: not judged",
        )
    ]


def test_a_guest_without_a_domain_is_not_passed_over(cluster: FakeServer) -> None:
    bare, lone, owned = vm("bare"), instance("lone"), instance("owned", "uid-web-a")
    word = vm("word")
    bare["spec"]["template"]["spec"]["domain"] = None
    word["spec"]["template"]["spec"]["domain"]["devices"]["interfaces"] = "default"
    lone["spec"]["domain"] = "a word"
    cluster.lists[f"{API}/virtualmachines"] = [vm("a"), bare, word]
    cluster.lists[f"{API}/virtualmachineinstances"] = [lone, owned]
    found = items(cluster)
    assert [one.name for one in domains(found)] == ["web/a"]
    assert [one.message for one in found if isinstance(one, ReadError)] == [
        "web/bare has no spec.template.spec.domain that can be read: not judged",
        "web/word: spec.template.spec.domain.devices.interfaces is a word: not judged",
        "web/lone: spec.domain is a word: not judged",
    ]


def test_a_namespace_without_virtual_machines_may_be_a_typo(
    cluster: FakeServer, tmp_path: Path
) -> None:
    cluster.lists[f"{API}/virtualmachines"] = [vm("a")]
    for command in ("audit", "nics"):
        result = inside(command, "kube:prod/wbe", cwd=tmp_path)
        assert result.returncode == 4
        shown = result.stdout + result.stderr
        assert "no virtual machine in namespace wbe (is the name right?)" in shown
    assert inside("nics", "kube:prod/web", cwd=tmp_path).returncode == 0


def test_a_whole_cluster_without_virtual_machines_is_no_error(cluster: FakeServer) -> None:
    assert not any(isinstance(one, ReadError) for one in items(cluster))


def test_what_is_being_deleted_or_has_ended_is_not_judged(
    cluster: FakeServer, tmp_path: Path
) -> None:
    leaving, halted, failed = vm("leaving"), vm("halted"), instance("failed", model="e1000")
    leaving["metadata"]["deletionTimestamp"] = "2026-11-30T08:00:00Z"
    failed["status"] = {"phase": "Failed"}
    restarting = instance("halted", "uid-web-halted")
    restarting["metadata"]["deletionTimestamp"] = "2026-11-30T08:00:00Z"
    cluster.lists[f"{API}/virtualmachines"] = [leaving, halted]
    cluster.lists[f"{API}/virtualmachineinstances"] = [failed, restarting]
    report = json.loads(inside("audit", "kube:", "--format", "json", cwd=tmp_path).stdout)
    told = [(one["rule"], one["about"]["name"]) for one in report["findings"]]
    assert told == [("VNIC071", "web/halted")]
    assert [(one["rule"], one["needs"]) for one in report["skipped"] if one["rule"] == "*"] == [
        ("*", "a virtual machine that stays: this one is being deleted"),
        ("*", "an instance that runs: this one has ended"),
    ]


def test_an_object_that_is_nested_very_deep_is_judged(cluster: FakeServer) -> None:
    deep: Item = {}
    for _ in range(300):
        deep = {"x": deep}
    bomb = vm("bomb")
    bomb["spec"]["template"]["spec"]["y"] = deep
    cluster.lists[f"{API}/virtualmachines"] = [vm("a"), bomb]
    found = items(cluster)
    assert [one.name for one in domains(found)] == ["web/a", "web/bomb"]
    assert not any(isinstance(one, ReadError) for one in found)


def test_an_audit_of_a_cluster_and_of_one_that_is_away(
    cluster: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each target has its own status, and nothing secret is shown."""
    machine = vm("a")
    machine["metadata"]["annotations"] = {"x": "\x1b[2J"}
    cluster.lists[f"{API}/virtualmachines"] = [machine]
    cluster.forbidden = {"nodes"}
    monkeypatch.setenv("VNICAUDIT_DEBUG", "1")
    result = inside("audit", "kube:", "kube:lab", "--format", "json", cwd=tmp_path)
    assert result.returncode == 4
    report = json.loads(result.stdout)
    assert [(one["target"], one["status"]) for one in report["targets"]] == [
        ("kube:prod", "ok"), ("kube:lab", "failed"),
    ]  # fmt: skip
    (finding,) = report["findings"]
    assert (finding["rule"], finding["location"]["file"]) == ("VNIC071", None)
    text = inside("audit", "kube:", "-v", cwd=tmp_path)
    assert "in files" not in text.stdout
    assert "kube:prod: no right to list nodes" in text.stdout
    shown = result.stdout + result.stderr + text.stdout + text.stderr
    assert "planted" not in shown
    assert cluster.token not in shown
    hidden = inside("audit", "kube:prod", "--redact", cwd=tmp_path)
    assert "prod" not in hidden.stdout


def test_a_cluster_in_an_inventory(cluster: FakeServer, tmp_path: Path) -> None:
    cluster.lists[f"{API}/virtualmachines"] = [vm("a")]
    hosts = tmp_path / "hosts"
    hosts.write_text("kube:prod\nkube:lab\n")
    result = inside(
        "audit", "-i", hosts, "--format", "json", "--state", tmp_path / "state", cwd=tmp_path
    )
    report = json.loads(result.stdout)
    assert [one["status"] for one in report["targets"]] == ["ok", "failed"]
    assert [one["rule"] for one in report["findings"]] == ["VNIC071"]


def test_a_server_that_fails_in_the_middle(cluster: FakeServer) -> None:
    cluster.lists[f"{API}/virtualmachines"] = [vm(f"v{n:03}") for n in range(600)]
    broken = status(500, "InternalError", "etcdserver: leader changed")
    cluster.intercept = lambda asked: broken if "continue" in asked.query else None
    found = items(cluster)
    assert len(domains(found)) == 500
    (error,) = (one for one in found if isinstance(one, ReadError))
    assert error.message == "virtualmachines.kubevirt.io: 500: etcdserver: leader changed"
