"""Objects of a real API server, patched by a run and patched back."""

from itertools import count
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.kube.objects import SECRET, attachment, instance_of, interface, kubevirt, virtual_machine
from tests.kube.server import Refused, Server
from tests.remedy.applying.cluster_world import DEVICES, MODEL, QUEUES, ClusterUnitT, step_on
from tests.remedy.applying.fakes import Stage
from tests.rig.process import wait_for
from vnicaudit.model.plan import ConfigUnit, NetworkUnit, PatchLine, PreferenceUnit, Step, VmUnit
from vnicaudit.model.runs import UnitRun
from vnicaudit.platforms.kubevirt.live import client
from vnicaudit.remedy.applying.rollback import RollbackSelection
from vnicaudit.remedy.hypervisor import ClusterObjects

pytestmark = pytest.mark.kube
VMS = "/apis/kubevirt.io/v1/namespaces/shop/virtualmachines"
REMEDY: list[dict[str, Any]] = [
    {"apiGroups": ["kubevirt.io"], "resources": ["virtualmachineinstances"], "verbs": ["get"]},
    {"apiGroups": ["kubevirt.io"], "resources": ["virtualmachines"], "verbs": ["get", "patch"]},
]


_NUMBERS = count(1)


class Rig(Stage):
    """A folder for runs, and an account of the real API server."""

    def __init__(self, folder: Path, server: Server, name: str, token: str) -> None:
        super().__init__(folder)
        self.server, self.name = server, name
        file = server.kubeconfig(name, {"token": token})
        self.target = f"kube:{name}?kubeconfig={file}"
        self.reach = replace(self.reach, trusted=frozenset({self.target}))
        self.cluster: ClusterObjects = self.adapters.cluster(self.target, 30)

    def step(self, kind: type[ClusterUnitT], path: str, name: str, *lines: PatchLine) -> Step:
        """The step that makes this patch of the object at that path."""
        meta = self.server.ask("GET", path)["metadata"]
        unit = kind(
            meta["uid"], meta.get("namespace", ""), name, lines, server=self.cluster.identity()
        )
        return step_on(unit, self.target)

    def applied(self, *steps: Step) -> UnitRun:
        (unit,) = self.apply(steps, self.context()).run.steps
        return unit

    def rolled_back(self, *, over_edits: bool = False) -> UnitRun:
        (back,) = self.rollback(self.context(), RollbackSelection(over_edits=over_edits))
        (unit,) = back.run.steps
        return unit


@pytest.fixture
def rig(cluster: Server, tmp_path: Path) -> Rig:
    vm = virtual_machine("web", interface(model="e1000"))
    cluster.load(vm, instance_of(vm))
    name = f"changer-{next(_NUMBERS)}"
    return Rig(tmp_path, cluster, name, cluster.account(name, REMEDY))


def step_on_vm(rig: Rig, *lines: PatchLine) -> Step:
    return rig.step(VmUnit, f"{VMS}/web", "web", *(lines or (MODEL, QUEUES)))


def devices(server: Server) -> dict[str, Any]:
    found: dict[str, Any] = server.ask("GET", f"{VMS}/web")["spec"]["template"]["spec"]["domain"]
    return found["devices"]  # type: ignore[no-any-return]


def test_a_virtual_machine_is_patched_and_patched_back(cluster: Server, rig: Rig) -> None:
    before = cluster.ask("GET", f"{VMS}/web")
    unit = rig.applied(step_on_vm(rig))
    assert (unit.outcome, unit.waiting) == ("applied", True)
    now = cluster.ask("GET", f"{VMS}/web")
    assert devices(cluster)["interfaces"] == [interface(model="virtio")]
    assert devices(cluster)["networkInterfaceMultiqueue"] is True
    assert "vnicaudit" in {one["manager"] for one in now["metadata"]["managedFields"]}
    assert rig.rolled_back().outcome == "applied"
    assert cluster.ask("GET", f"{VMS}/web")["spec"] == before["spec"]


def test_only_what_the_role_allows_is_asked_for(cluster: Server, rig: Rig) -> None:
    rig.applied(step_on_vm(rig))
    rig.rolled_back()
    asked = [
        one for one in cluster.requests(rig.name)
        if one.get("objectRef", {}).get("resource") != "selfsubjectaccessreviews"  # the test's own
    ]  # fmt: skip
    found = {(one["verb"], one["objectRef"]["resource"]) for one in asked if "objectRef" in one}
    assert found == {
        ("get", "virtualmachines"), ("get", "virtualmachineinstances"),
        ("patch", "virtualmachines"),
    }  # fmt: skip
    patches = [one["requestURI"] for one in asked if one["verb"] == "patch"]
    assert ["dryRun=All" in one for one in patches] == [True, False, True, False]
    assert all("fieldManager=vnicaudit&fieldValidation=Strict" in one for one in patches)


def test_nothing_of_a_secret_is_kept(rig: Rig) -> None:
    rig.applied(step_on_vm(rig))
    written = b"".join(one.read_bytes() for one in rig.folder.rglob("*") if one.is_file())
    assert b"e1000" in written
    assert SECRET.encode() not in written


def _webhook_of(label: str) -> dict[str, Any]:
    """One that nobody answers, for objects with that label."""
    rule = {
        "apiGroups": ["kubevirt.io"], "apiVersions": ["*"], "operations": ["UPDATE"],
        "resources": ["virtualmachines"],
    }  # fmt: skip
    hook = {
        "name": "away.example.org", "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [rule], "objectSelector": {"matchLabels": {label: ""}}, "sideEffects": "None",
        "admissionReviewVersions": ["v1"], "failurePolicy": "Fail",
    }  # fmt: skip
    kind = "ValidatingWebhookConfiguration"
    return {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
        "metadata": {"name": "away"}, "webhooks": [hook],
    }  # fmt: skip


def _is_refused(cluster: Server, path: str) -> bool:
    kind = "application/merge-patch+json"
    try:
        cluster.ask("PATCH", path, {"spec": {"runStrategy": "Manual"}}, kind=kind, dryRun="All")
    except Refused:
        return True
    return False


def test_a_webhook_that_is_away_refuses_its_object_alone(
    cluster: Server, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_PAUSES", ())
    hooked = virtual_machine("hooked", interface(model="e1000"))
    hooked["metadata"]["labels"] = {"hooked": ""}
    cluster.load(hooked, _webhook_of("hooked"))
    wait_for(lambda: _is_refused(cluster, f"{VMS}/hooked"), "the webhook is asked")
    steps = rig.step(VmUnit, f"{VMS}/hooked", "hooked", MODEL), step_on_vm(rig)
    units = {one.name: one for one in rig.apply(steps, rig.context()).run.steps}
    found = units["shop/hooked"]
    assert (found.outcome, found.codes) == ("refused", ("cluster",))
    assert "failed calling webhook" in found.message
    assert units["shop/web"].outcome == "applied"


@pytest.mark.parametrize("path", ["", "/spec/template/metadata"], ids=["value", "beside"])
def test_an_edit_between_the_dry_run_and_the_patch(
    cluster: Server, rig: Rig, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, done = type(rig.cluster).patch, list[object]()

    def patch(self: ClusterObjects, *words: Any, dry_run: bool = False) -> Any:
        if not dry_run and not done:
            value: object = {"labels": {"a": "b"}} if path else "rtl8139"
            edit = {"op": "add", "path": path or MODEL.path, "value": value}
            kind = "application/json-patch+json"
            done.append(cluster.ask("PATCH", f"{VMS}/web", [edit], kind=kind))
        return real(self, *words, dry_run=dry_run)

    monkeypatch.setattr(type(rig.cluster), "patch", patch)
    unit = rig.applied(step_on_vm(rig))
    model = devices(cluster)["interfaces"][0]["model"]
    if path:
        assert (unit.outcome, model) == ("applied", "virtio")
    else:
        assert (unit.outcome, unit.codes, model) == ("refused", ("drift",), "rtl8139")
        assert "networkInterfaceMultiqueue" not in devices(cluster)


def test_an_edit_after_the_run(cluster: Server, rig: Rig) -> None:
    rig.applied(step_on_vm(rig, MODEL))
    edit = [{"op": "replace", "path": MODEL.path, "value": "rtl8139"}]
    cluster.ask("PATCH", f"{VMS}/web", edit, kind="application/json-patch+json")
    back = rig.rolled_back()
    assert (back.outcome, back.codes) == ("refused", ("edited",))
    assert rig.rolled_back(over_edits=True).outcome == "applied"
    assert devices(cluster)["interfaces"] == [interface(model="e1000")]


def test_a_right_that_is_missing_is_said_before_anything_begins(
    cluster: Server, tmp_path: Path, rig: Rig
) -> None:
    reading = [{**rule, "verbs": ["get"]} for rule in REMEDY]
    reader = Rig(tmp_path / "r", cluster, "looker", cluster.account("looker", reading))
    unit = reader.applied(replace(step_on_vm(reader)))
    assert (unit.outcome, unit.codes) == ("refused", ("cluster",))
    assert 'cannot patch resource "virtualmachines"' in unit.message
    assert devices(cluster)["interfaces"] == [interface(model="e1000")]
    assert rig.cluster.instance("shop", "web") is not None


def test_without_virt_api_a_restart_is_refused_before_anything_begins(
    cluster: Server, rig: Rig
) -> None:
    (unit,) = rig.apply((step_on_vm(rig),), rig.context("restart")).run.steps
    assert (unit.outcome, unit.codes) == ("refused", ("cluster",))
    assert "does not serve subresources.kubevirt.io" in unit.message
    assert devices(cluster)["interfaces"] == [interface(model="e1000")]


def test_another_object_of_that_name_is_left(cluster: Server, rig: Rig) -> None:
    step = step_on_vm(rig)
    cluster.ask("DELETE", f"{VMS}/web")
    cluster.load(virtual_machine("web", interface(model="e1000")))
    assert rig.applied(step).outcome == "gone"
    assert devices(cluster)["interfaces"] == [interface(model="e1000")]


PREFERENCES = "/apis/instancetype.kubevirt.io/v1beta1"
EMULATION = PatchLine(
    "/spec/configuration/developerConfiguration/useEmulation", before=True, after=None
)


@pytest.mark.parametrize("space", ["", "shop"], ids=["of-all", "of-a-namespace"])
def test_a_preference_of_either_scope(cluster: Server, tmp_path: Path, space: str) -> None:
    kind = f"VirtualMachine{'' if space else 'Cluster'}Preference"
    where = f"namespaces/{space}/" if space else ""
    path = f"{PREFERENCES}/{where}{kind.lower()}s/small"
    line = PatchLine("/spec/devices/preferredInterfaceModel", before="e1000", after="virtio")
    metadata = {"name": "small"} | ({"namespace": space} if space else {})
    cluster.load({
        "apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": kind, "metadata": metadata,
        "spec": {"devices": {"preferredInterfaceModel": "e1000"}},
    })  # fmt: skip
    rig = Rig(tmp_path, cluster, "admin", "admin-token")
    assert rig.applied(rig.step(PreferenceUnit, path, "small", line)).outcome == "applied"
    assert cluster.ask("GET", path)["spec"] == {"devices": {"preferredInterfaceModel": "virtio"}}
    assert rig.rolled_back().outcome == "applied"
    assert cluster.ask("GET", path)["spec"] == {"devices": {"preferredInterfaceModel": "e1000"}}


def test_a_network_and_the_settings_of_all(cluster: Server, tmp_path: Path) -> None:
    settings = {"configuration": {"developerConfiguration": {"useEmulation": True}}}
    cluster.load(attachment(config="{"), {**kubevirt(), "spec": settings})
    rig = Rig(tmp_path, cluster, "admin", "admin-token")
    nad = "/apis/k8s.cni.cncf.io/v1/namespaces/shop/network-attachment-definitions/lan"
    config = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts/kubevirt"
    text = '{"cniVersion": "0.3.1", "type": "bridge"}'
    steps = (
        rig.step(NetworkUnit, nad, "lan", PatchLine("/spec/config", before="{", after=text)),
        rig.step(ConfigUnit, config, "kubevirt", EMULATION),
    )
    units = rig.apply(steps, rig.context()).run.steps
    assert [(one.name, one.kind, one.outcome) for one in units] == [
        ("shop/lan", "kube-nad", "applied"), ("kubevirt/kubevirt", "kube-config", "applied")
    ]  # fmt: skip
    assert cluster.ask("GET", nad)["spec"]["config"] == text
    assert cluster.ask("GET", config)["spec"] == {"configuration": {"developerConfiguration": {}}}
    rig.rollback(rig.context())
    assert cluster.ask("GET", nad)["spec"]["config"] == "{"
    assert cluster.ask("GET", config)["spec"] == settings


def test_the_server_itself_tests_the_guards(cluster: Server, rig: Rig) -> None:
    kind = "application/json-patch+json"
    wrong = {
        "/metadata/uid": "another", "/metadata/resourceVersion": "1", MODEL.path: "virtio",
        f"{DEVICES}/interfaces/0/name": "other",
    }  # fmt: skip
    for path, value in wrong.items():
        patch = [{"op": "test", "path": path, "value": value}]
        with pytest.raises(Refused) as caught:
            cluster.ask("PATCH", f"{VMS}/web", patch, kind=kind)
        assert caught.value.status == 422
    assert rig.cluster.instance("shop", "none") is None
