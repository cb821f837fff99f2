"""Clusters as targets of a plan: what their findings propose, who decides on it, and what stands in
the way."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.kube.objects import (
    SECRET,
    attachment,
    instance_of,
    interface,
    kubevirt,
    node,
    virtual_machine,
)
from tests.remedy.planning.planned import requested
from tests.remedy.works import work
from tests.rows import rows
from vnicaudit.audit.reading.targets import target_of
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.file_kind import Item
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.model.plan import ClusterUnit, Plan, Step, VmUnit
from vnicaudit.platforms.kubevirt.cluster import ClusterReading
from vnicaudit.platforms.kubevirt.live import read as live
from vnicaudit.platforms.kubevirt.objects import decoded_object
from vnicaudit.remedy.planning.run import PlanOptions, make_plan
from vnicaudit.reports.plan import to_json

TARGET = "kube:lab"
DEVICES = "/spec/template/spec/domain/devices/"
Object = dict[str, Any]
OLD = '{{"type": "cnv-bridge", "bridge": "{}"}}'
LISTS = ("nodes", "virtualmachineinstances", "network-attachment-definitions")


def plan_of(
    monkeypatch: pytest.MonkeyPatch,
    *objects: Object,
    options: PlanOptions | None = None,
    lists: tuple[str, ...] = LISTS,
    namespace: str = "",
) -> Plan:
    """The plan of a cluster of these objects. ``lists``: those that were read to their end, of one
    ``namespace`` or of all."""

    def read(target: str, _options: LiveOptions) -> Iterator[Item]:
        reading = ClusterReading(target, "lab")
        found = [decoded_object(json.loads(json.dumps(one)), target) for one in objects]
        for one in found:
            reading.take(one)
        for plural in lists:
            reading.listed(plural, namespace)
        yield from filter(None, map(reading.domain, found))
        yield reading.facts
        yield from filter(None, reading.preferences.values())

    monkeypatch.setattr(live, "read", read)
    platforms = every_platform()
    asked = requested(work(platforms), options=options or PlanOptions())
    return make_plan([target_of(TARGET, platforms.targets)], platforms.planners, asked)


def machine(*interfaces: Object, cores: int = 2, **more: Any) -> Object:
    """A VM that may have a virtio NIC. ``more``: parts of its metadata, its spec and its status."""
    vm = virtual_machine("web", *interfaces)
    vm["metadata"] |= {"labels": {}} | more.get("metadata", {})
    vm["metadata"]["labels"]["kubevirt.io/os"] = "fedora40"
    vm["spec"] |= more.get("spec", {})
    vm["spec"]["template"]["spec"] |= more.get("template", {})
    vm["spec"]["template"]["spec"]["domain"]["cpu"]["cores"] = cores
    vm["status"] = more.get("status", {})
    return vm


def step_of(plan: Plan) -> Step:
    (step,) = plan.steps
    return step


def said(plan: Plan) -> list[str]:
    """Steps and what is left out, in short."""
    found = []
    for step in plan.steps:
        unit = step.unit
        assert isinstance(unit, ClusterUnit)
        safe = "safe" if step.safe else "unsafe"
        found.append(f"{unit.kind} {unit.full_name} {' '.join(step.rules)} {safe}")
        found += [
            f"{one.path.removeprefix(DEVICES)} {one.name or '-'}: {one.before} -> {one.after}"
            for one in unit.patch
        ]
        found += [f"blocked {one.code}" for one in step.blocked]
        found += [f"file {one.name}" for one in step.files]
    return [*found, *(f"left {' '.join(one.rules)} {one.code}" for one in plan.not_planned)]


@rows
def test_what_findings_propose(
    vm: Object, options: dict[str, Any], told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = machine(*(interface(**one) for one in vm.pop("interfaces")), **vm)
    asked = PlanOptions(
        unsafe=options.get("unsafe", False),
        macs=tuple(options.get("macs", ())),
        gitops=frozenset(options.get("gitops", ())),
        owned=frozenset(options.get("owned", ())),
    )
    plan = plan_of(monkeypatch, kubevirt(), node(), found, instance_of(found), options=asked)
    assert said(plan) == told


def revision(name: str, devices: Object) -> Object:
    """What a VM recorded of its preference."""
    preference = {
        "apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": "VirtualMachineClusterPreference",
        "metadata": {"name": "fedora"}, "spec": {"devices": devices},
    }  # fmt: skip
    metadata = {"name": name, "namespace": "shop", "uid": name}
    recorded = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": metadata}
    return {**recorded, "data": preference} if name else preference


@rows
def test_what_a_preference_has_today_is_set_on_the_machine(
    then: Object, now: Object, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = {"controllerRevisionRef": {"name": "then"}, "name": "fedora"}
    vm = machine(spec={"preference": {"name": "fedora"}}, status={"preferenceRef": recorded})
    today = revision("", now)
    today["metadata"]["uid"] = "p"
    objects = (kubevirt(), node(), revision("then", then), today, vm)
    assert said(plan_of(monkeypatch, *objects, options=PlanOptions(unsafe=True))) == told


@rows
def test_a_preference_is_planned_if_it_is_named(
    metadata: Object, options: dict[str, Any], namespace: str, told: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    found = revision("", {"preferredInterfaceModel": "e1000"})
    found["metadata"] |= {"uid": "p"} | metadata
    if "namespace" in metadata:
        found["kind"] = "VirtualMachinePreference"
    asked = PlanOptions(
        domains=frozenset(options.get("domains", ())), unsafe=options.get("unsafe", False)
    )
    vm = machine(interface(model="e1000"))
    plan = plan_of(monkeypatch, kubevirt(), vm, found, options=asked, namespace=namespace)
    assert [each for each in said(plan) if "shop/web" not in each and DEVICES not in each
            and not each.startswith("interfaces/")] == told  # fmt: skip
    assert not any("no domain in the targets" in note for note in plan.notes)


def test_the_patch_of_a_preference_names_its_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    found = revision("", {"preferredInterfaceModel": "e1000"})
    found["metadata"] |= {"uid": "p", "annotations": {"argocd.argoproj.io/tracking-id": "x"}}
    asked = PlanOptions(domains=frozenset({"fedora"}), unsafe=True)
    step = step_of(plan_of(monkeypatch, kubevirt(), found, options=asked))
    (file,) = step.files
    assert file.text.splitlines()[0] == '# VirtualMachineClusterPreference "fedora"'
    assert '"kind": "VirtualMachineClusterPreference", "name": "fedora"}' in file.text
    assert "several" not in file.text
    assert step.modes[0].reason.startswith("it takes effect when virtual machines are created")


def emulating() -> Object:
    found = kubevirt()
    found["metadata"]["uid"] = "kv"
    found["spec"] = {"configuration": {"developerConfiguration": {"useEmulation": True}}}
    return found


def test_emulation_is_switched_off_where_every_node_has_kvm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    field = "/spec/configuration/developerConfiguration/useEmulation -: True -> None"
    plan = plan_of(monkeypatch, emulating(), node())
    assert said(plan) == ["kube-config kubevirt/kubevirt VNIC200 safe", field]
    other = node("n2")
    other["status"] = {"allocatable": {}}
    assert said(plan_of(monkeypatch, emulating(), node(), other)) == ["left VNIC200 unsafe"]


def test_a_plan_of_one_namespace_leaves_the_settings_of_the_cluster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lists = ("virtualmachines", "network-attachment-definitions")
    network = attachment("lan", config=OLD.format("br1"))
    plan = plan_of(monkeypatch, emulating(), node(), network, lists=lists, namespace="shop")
    (step,), (left,) = plan.steps, plan.not_planned
    assert isinstance(step.unit, ClusterUnit)
    assert step.unit.kind == "kube-nad"
    assert (left.rules, left.about.name) == (("VNIC200",), "kubevirt/kubevirt")
    assert left.reason.endswith("plan the whole cluster")


def test_emulation_that_hyperconverged_sets_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = emulating()
    settings["metadata"]["labels"] = {"app.kubernetes.io/managed-by": "hco-operator"}
    step = step_of(plan_of(monkeypatch, settings, node()))
    assert [one.code for one in step.blocked] == ["owner-changes-it"]
    assert step.blocked[0].text.startswith("HyperConverged manages it: change the HyperConverged")
    assert step.files == ()


@rows
def test_networks(config: str, after: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    network = attachment("lan", config=config)
    network["metadata"]["uid"] = "n"
    plan = plan_of(monkeypatch, network)
    if after is None:
        assert plan.steps == ()
        (note,) = plan.notes
        assert "1 finding without a change that can be planned" in note
        return
    unit = step_of(plan).unit
    assert isinstance(unit, ClusterUnit)
    assert [(one.path, one.before, one.after) for one in unit.patch] == [
        ("/spec/config", config, after)
    ]


def test_each_network_is_corrected_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    networks = [attachment(name, config=OLD.format(name)) for name in ("a", "b", "c")]
    for one in networks:
        one["metadata"]["uid"] = one["metadata"]["name"]
    networks[2]["spec"]["config"] = "{"  # cannot be corrected
    plan = plan_of(monkeypatch, *networks)
    assert [
        (one.unit.uid, [(line.before, line.after) for line in one.unit.patch])
        for one in plan.steps if isinstance(one.unit, ClusterUnit)
    ] == [
        (name, [(OLD.format(name), OLD.format(name).replace("cnv-bridge", "bridge"))])
        for name in ("a", "b")
    ]  # fmt: skip
    assert "1 finding without" in plan.notes[0]


@rows
def test_when_it_takes_effect(
    version: str, runs: bool, state: str, lists: list[str], modes: list[str], notes: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    status = {"printableStatus": state}
    vm = machine(interface(model="e1000", pciAddress="0000:02:00.0"), status=status)
    objects = [kubevirt(version), node(), vm, *([instance_of(vm)] if runs else [])]
    step = step_of(plan_of(monkeypatch, *objects, lists=tuple(lists)))
    assert [one.mode for one in step.modes if one.possible] == modes
    assert [note.split(" ", 3)[:3] for note in step.notes] == [note.split() for note in notes]


def test_members_of_one_group_are_changed_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    term = {
        "labelSelector": {"matchLabels": {"app": "db"}},
        "topologyKey": "kubernetes.io/hostname",
    }
    apart = {"preferredDuringSchedulingIgnoredDuringExecution": [{"podAffinityTerm": term}]}
    vm = machine(
        interface(model="e1000"), template={"affinity": {"podAntiAffinity": apart}},
        metadata={"ownerReferences": [{"kind": "VirtualMachinePool", "name": "db", "uid": "p"}]},
    )  # fmt: skip
    unit = step_of(plan_of(monkeypatch, vm)).unit
    assert isinstance(unit, VmUnit)
    assert unit.groups == ("shop: pods apart from app=db", "shop: pool db")


@pytest.mark.parametrize(("ended", "codes"), [(None, ["busy"]), ("2026-11-30T10:00:00Z", [])])
def test_a_machine_that_is_still_imported(
    ended: str | None, codes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = {"plan": "p", "migration": "m", "vmID": "vm-1"}
    status = {"started": "2026-11-30T09:00:00Z"} | ({"completed": ended} if ended else {})
    migration = {
        "apiVersion": "forklift.konveyor.io/v1beta1", "kind": "Migration",
        "metadata": {"name": "m", "namespace": "forklift", "uid": "m"}, "status": status,
    }  # fmt: skip
    vm = machine(interface(model="e1000"), metadata={"labels": labels})
    plan = plan_of(monkeypatch, vm, migration, lists=(*LISTS, "migrations"))
    assert [one.code for one in step_of(plan).blocked] == codes
    assert not any("make sure" in note for note in step_of(plan).notes)


def test_a_machine_whose_import_is_not_in_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = {"plan": "p", "migration": "m", "vmID": "vm-1"}
    vm = machine(interface(model="e1000"), metadata={"labels": labels})
    step = step_of(plan_of(monkeypatch, vm, lists=(*LISTS, "migrations")))
    assert any("make sure that it has ended" in note for note in step.notes)


def test_no_plan_has_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    vm = machine(interface(model="e1000"))
    vm["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": SECRET}
    plan = plan_of(monkeypatch, vm, instance_of(vm))
    assert step_of(plan).files
    assert SECRET not in to_json(plan).decode()


def test_an_instance_without_a_machine_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = instance_of(machine(interface(model="e1000")))
    owner = {"kind": "VirtualMachineInstanceReplicaSet", "name": "web", "controller": True}
    instance["metadata"] |= {"uid": "i", "ownerReferences": [owner]}
    instance["metadata"]["labels"] = {"kubevirt.io/os": "fedora40"}
    (left,) = plan_of(monkeypatch, instance).not_planned
    assert left.code == "owner-decides"
    assert left.reason.startswith("Its controller VirtualMachineInstanceReplicaSet web manages it")


def test_a_patch_names_its_object_and_cannot_break_out_of_its_comment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mark = {"argocd.argoproj.io/tracking-id": "shop\npatches: [{}]"}
    vm = machine(interface(model="e1000"), metadata={"annotations": mark})
    (file,) = step_of(plan_of(monkeypatch, vm)).files
    lines = file.text.splitlines()
    assert lines[0] == '# VirtualMachine "web" in namespace "shop"'
    assert lines[2].endswith('several of that name, add "namespace": "shop" to `target`.')
    assert [line for line in lines if not line.startswith("#")] == [
        "patches:",
        '- target: {"group": "kubevirt.io", "kind": "VirtualMachine", "name": "web"}',
        "  patch: |-",
        f'    - {{"op": "test", "path": "{DEVICES}interfaces/0/name", "value": "default"}}',
        f'    - {{"op": "test", "path": "{DEVICES}interfaces/0/model", "value": "e1000"}}',
        f'    - {{"op": "replace", "path": "{DEVICES}interfaces/0/model", "value": "virtio"}}',
    ]
