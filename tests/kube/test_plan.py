"""A plan of a real API server: made by whoever may only read, applied with the second role, as the
program's commands do it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.inside import inside
from tests.kube.changing import PREFERENCE, PREFERENCES
from tests.kube.objects import SECRET, attachment, instance_of, interface, virtual_machine
from tests.kube.server import Server
from tests.kube.test_remedy import REMEDY
from tests.kube.test_rights import RULES, is_reading, target

pytestmark = pytest.mark.kube
VM = "/apis/kubevirt.io/v1/namespaces/shop/virtualmachines/web"


def models(cluster: Server, path: str = VM) -> list[str | None]:
    found = cluster.ask("GET", path)["spec"]["template"]["spec"]["domain"]["devices"]["interfaces"]
    return [one.get("model") for one in found]


def test_a_plan_reads_and_writes_patches_for_a_repository(cluster: Server, tmp_path: Path) -> None:
    free = virtual_machine("web", interface(model="e1000"))
    kept = virtual_machine("db", interface(model="e1000"))
    kept["metadata"]["annotations"] = {"argocd.argoproj.io/tracking-id": "db:x"}
    old = attachment(config='{"cniVersion": "0.3.1", "type": "cnv-bridge", "bridge": "br1"}')
    cluster.load(old, free, instance_of(free), kept)
    name, file, patches = target(cluster, "planner", RULES), tmp_path / "plan.json", tmp_path / "p"
    result = inside(
        "plan", name, "-o", str(file), "--patches", str(patches), "--include-unsafe", "--diff"
    )
    assert result.returncode == 0, result.stderr
    plan = json.loads(file.read_text())
    assert {
        (one["unit"]["kind"], one["unit"]["name"], *(each["code"] for each in one["blocked"]))
        for one in plan["steps"]
    } == {("kube-vm", "web"), ("kube-vm", "db", "owner-changes-it"), ("kube-nad", "lan")}
    assert {one["unit"]["server"] for one in plan["steps"]} == {cluster.url}
    (written,) = patches.rglob("*.yaml")
    assert written.name == "vm-db.yaml"
    assert SECRET not in result.stdout + file.read_text() + written.read_text()
    assert [one for one in cluster.requests("planner") if not is_reading(one)] == []


def test_marks_that_appear_after_the_plan_count(cluster: Server, tmp_path: Path) -> None:
    """Those that the settings leave out, and that were there, do not."""
    free, left = (virtual_machine(name, interface(model="e1000")) for name in ("web", "db"))
    left["metadata"]["annotations"] = {"argocd.argoproj.io/tracking-id": "db:x"}
    cluster.load(free, left)
    name, file = target(cluster, "owned", [*RULES, *REMEDY]), str(tmp_path / "plan.json")
    settings = tmp_path / "vnicaudit.toml"
    settings.write_text('treat-as-owned = ["argocd.argoproj.io/tracking-id"]\n')
    planned = inside("plan", name, "-o", file, "--include-unsafe", "--config", str(settings))
    assert planned.returncode == 0, planned.stderr
    labels = {"metadata": {"labels": {"kustomize.toolkit.fluxcd.io/name": "shop"}}}
    cluster.ask("PATCH", VM, labels, kind="application/merge-patch+json")
    state = ("--state", str(tmp_path / "state"), "--yes")
    applied = inside("apply", file, *state, "--include-unsafe", "--trust-uri", "all")
    said = applied.stdout + applied.stderr
    assert applied.returncode == 5, said
    assert "it has another owner since the plan was made (kustomize.toolkit.fluxcd.io/name)" in said
    assert models(cluster) == ["e1000"]
    assert models(cluster, VM.replace("web", "db")) == ["virtio"]


def test_a_cluster_of_an_inventory_is_planned(cluster: Server, tmp_path: Path) -> None:
    vm = virtual_machine("web", interface(model="e1000"))
    cluster.load(vm, instance_of(vm))
    name, fleet = target(cluster, "fleet", RULES), tmp_path / "fleet.toml"
    fleet.write_text(f'[[hosts]]\nname = "lab"\nuri = "{name}"\n')
    result = inside("plan", "-i", str(fleet), "--trust-uri", name, "--include-unsafe", "-o", "-")
    assert result.returncode == 0, result.stderr
    (step,) = json.loads(result.stdout)["steps"]
    assert (step["target"], step["unit"]["name"]) == (name, "web")


def test_a_preference_is_planned_by_its_name_applied_and_undone(
    cluster: Server, tmp_path: Path
) -> None:
    def devices() -> object:
        return cluster.ask("GET", f"{PREFERENCES}/old")["spec"]["devices"]

    fedora = {"annotations": {"vm.kubevirt.io/os": "linux"}}
    vm = virtual_machine("web", interface(model="virtio"))
    vm["spec"]["preference"] = {"name": "old"}
    cluster.load({**PREFERENCE, "metadata": PREFERENCE["metadata"] | fedora}, vm)
    of_preferences: dict[str, Any] = {
        "apiGroups": ["instancetype.kubevirt.io"], "verbs": ["get", "patch"],
        "resources": ["virtualmachineclusterpreferences"],
    }  # fmt: skip
    name, file = target(cluster, "maker", [*RULES, of_preferences]), str(tmp_path / "plan.json")
    state = ("--state", str(tmp_path / "state"), "--trust-uri", "all")
    planned = inside("plan", name, "-o", file, "--domain", "old", "--include-unsafe")
    assert planned.returncode == 0, planned.stdout
    applied = inside("apply", file, *state, "--yes", "--include-unsafe")
    assert applied.returncode == 0, applied.stdout + applied.stderr
    assert devices() == {"preferredInterfaceModel": "virtio"}
    (run,) = (tmp_path / "state/runs").iterdir()
    undone = inside("rollback", run.name, *state, "--yes")
    assert undone.returncode == 0, undone.stdout + undone.stderr
    assert devices() == {"preferredInterfaceModel": "e1000"}
