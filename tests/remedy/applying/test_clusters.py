"""Objects of a cluster: patched, restarted, seen to run with it, and patched back."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.remedy.applying.cluster_world import (
    DEVICES,
    MODEL,
    QUEUES,
    SECONDS,
    TARGET,
    UID,
    ClusterWorld,
    FakeCluster,
    cluster_world,
    step_on,
    vm_step,
)
from tests.remedy.applying.fakes import Killed
from vnicaudit.errors import RefusedError, UsageError
from vnicaudit.model.finding import Change
from vnicaudit.model.plan import Mode, PatchLine, Step
from vnicaudit.model.runs import UnitRun
from vnicaudit.remedy.applying.apply import dry_run_apply
from vnicaudit.remedy.applying.history import runs
from vnicaudit.remedy.applying.journal.past_run import all_past
from vnicaudit.remedy.applying.journal.state import StateFolder
from vnicaudit.remedy.applying.pruning import in_effect
from vnicaudit.remedy.applying.rollback import RollbackSelection

STEPS: tuple[Step, ...] = (vm_step(MODEL), vm_step(QUEUES, number=2))
RESTARTED = "virtctl --context lab restart web -n shop"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClusterWorld:
    return cluster_world(tmp_path, monkeypatch)


def applied(world: ClusterWorld, mode: Mode = "next-boot", *steps: Step) -> UnitRun:
    """What became of the one unit."""
    (unit,) = world.apply(steps or STEPS, world.context(mode)).run.steps
    return unit


def rolled_back(
    world: ClusterWorld, mode: Mode = "next-boot", *, over_edits: bool = False
) -> UnitRun:
    (back,) = world.rollback(world.context(mode), RollbackSelection(over_edits=over_edits))
    (unit,) = back.run.steps
    return unit


def test_all_steps_of_a_virtual_machine_are_one_guarded_patch(world: ClusterWorld) -> None:
    unit = applied(world)
    assert (unit.name, unit.uuid, unit.kind) == ("shop/web", UID, "kube-vm")
    assert (unit.outcome, unit.waiting) == ("applied", True)
    assert unit.message == f"it takes effect when it is restarted: {RESTARTED}"
    assert world.cluster.requests == ["dry run", "patch"]
    (patch,) = world.cluster.patches
    assert patch == [
        {"op": "test", "path": "/metadata/uid", "value": UID},
        {"op": "test", "path": "/metadata/resourceVersion", "value": "10"},
        {"op": "test", "path": f"{DEVICES}/interfaces/0/name", "value": "default"},
        {"op": "test", "path": MODEL.path, "value": "e1000"},
        {"op": "replace", "path": MODEL.path, "value": "virtio"},
        {"op": "add", "path": QUEUES.path, "value": True},
    ]
    assert world.cluster.runs_with() == "e1000"


def test_a_virtual_machine_under_once_is_stopped_and_started_by_hand(world: ClusterWorld) -> None:
    world.cluster.vm["spec"]["runStrategy"] = "Once"
    assert applied(world).message.startswith(
        "it takes effect when it is restarted: virtctl --context lab stop web -n shop, and when it "
        "has stopped, set its runStrategy to Once again"
    )


def test_a_restart_waits_for_a_new_instance_with_it(world: ClusterWorld) -> None:
    unit = applied(world, "restart")
    assert (unit.outcome, unit.message, unit.waiting) == ("applied", "", False)
    assert world.cluster.requests == ["dry run", "restart dry run", "patch", "restart"]
    assert [(one.name, one.verdict, one.detail) for one in unit.checks] == [
        ("spec", "ok", 'default model is "virtio"'),
        ("spec", "ok", "networkInterfaceMultiqueue is true"),
        ("running", "ok", "its instance is Running"),
        ("agent", "ok", "the guest agent is connected"),
    ]
    assert unit.downtime is not None
    assert SECONDS <= unit.downtime < SECONDS + 2
    assert world.cluster.runs_with() == "virtio"


@pytest.mark.parametrize("comes_back", ["with it", "old"])
def test_what_waits_for_a_restart_is_restarted_later(world: ClusterWorld, comes_back: str) -> None:
    applied(world)
    assert applied(world).outcome == "already"
    world.cluster.comes_back = comes_back
    unit = applied(world, "restart")
    if comes_back == "old":
        assert (unit.outcome, world.cluster.nic()["model"]) == ("rolled-back", "e1000")
        return
    assert (unit.outcome, world.cluster.runs_with()) == ("applied", "virtio")
    assert len(world.cluster.patches) == 1
    assert applied(world, "restart").outcome == "already"
    assert rolled_back(world, "restart").outcome == "applied"
    assert (world.cluster.nic()["model"], world.cluster.runs_with()) == ("e1000", "e1000")


@pytest.mark.parametrize("mode", ["next-boot", "restart"])
def test_a_rollback_takes_everything_back(world: ClusterWorld, mode: Mode) -> None:
    before = world.cluster.get("kube-vm", "shop", "web")["spec"]
    applied(world, mode)
    assert rolled_back(world, mode).outcome == "applied"
    assert world.cluster.vm["spec"] == before
    assert world.cluster.runs_with() == "e1000"
    assert world.cluster.restarts == (3 if mode == "restart" else 1)


def test_a_rollback_without_a_restart_says_what_the_guest_runs_with(world: ClusterWorld) -> None:
    applied(world)
    world.cluster.vm["status"]["conditions"] = [{"type": "RestartRequired", "status": "True"}]
    back = rolled_back(world, "restart")
    assert (back.outcome, world.cluster.restarts) == ("applied", 1)


def test_a_rollback_for_the_next_boot_says_when_the_condition_goes(world: ClusterWorld) -> None:
    applied(world)
    world.cluster.vm["status"]["conditions"] = [{"type": "RestartRequired", "status": "True"}]
    back = rolled_back(world)
    assert (back.outcome, back.waiting) == ("applied", False)
    assert "KubeVirt 1.8 and newer takes back the condition RestartRequired" in back.message


@pytest.mark.parametrize(("seconds", "verdicts"), [(5.0, []), (60.0, ["unknown"])])
def test_a_condition_that_goes_with_the_restart_is_waited_for(
    world: ClusterWorld, seconds: float, verdicts: list[str]
) -> None:
    world.cluster.vm["status"]["conditions"] = [{"type": "RestartRequired", "status": "True"}]
    world.cluster.clears_at = world.clock.seconds + SECONDS + seconds
    unit = applied(world, "restart")
    assert unit.outcome == "applied"
    assert [one.verdict for one in unit.checks if one.name == "condition"] == verdicts


def test_warnings_of_the_server_are_shown(world: ClusterWorld) -> None:
    world.cluster.warns = ("it is deprecated",)
    (preview,) = dry_run_apply(STEPS, b"plan", world.context())
    words = "Warning of the API server: it is deprecated"
    assert (preview.outcome, preview.message) == ("would-change", words)
    applied(world)
    assert ("shop/web", words) in world.told


@pytest.mark.parametrize("comes_back", ["never", "old", "silent"])
def test_what_does_not_come_back_with_it_is_undone(world: ClusterWorld, comes_back: str) -> None:
    world.cluster.comes_back = comes_back
    unit = applied(world, "restart")
    assert world.cluster.nic()["model"] == "e1000"
    assert "networkInterfaceMultiqueue" not in world.cluster.devices()
    if comes_back == "never":
        assert unit.outcome == "failed"
        assert "not everything could be undone: for the same reason" in unit.message
        assert "to start it by hand: virtctl --context lab start web -n shop" in unit.message
        return
    if comes_back == "old":
        assert (unit.outcome, world.cluster.restarts) == ("rolled-back", 2)
        assert 'default model is "e1000"' in unit.message
    else:
        assert (unit.outcome, world.cluster.restarts) == ("rolled-back", 3)
        assert unit.message == (
            "its guest agent does not answer; it is as before, but its guest agent still does not "
            "answer: see its console (virtctl --context lab console web -n shop)"
        )
    assert world.cluster.runs_with() == "e1000"


def test_a_restart_that_does_not_begin_is_said(world: ClusterWorld) -> None:
    world.cluster.comes_back = "not begun"
    unit = applied(world, "restart")
    assert (unit.outcome, world.cluster.nic()["model"]) == ("failed", "e1000")
    assert unit.message.startswith(
        "it was not restarted; not everything could be undone: a stop or a start of it is under way"
    )


def test_what_the_server_refuses_is_not_begun(world: ClusterWorld) -> None:
    world.cluster.refuses = "422: spec.template.spec.domain: model igb is not supported"
    unit = applied(world)
    assert (unit.outcome, unit.codes) == ("refused", ("cluster",))
    assert "model igb is not supported" in unit.message
    assert "before line begin" not in world.passed


def test_a_restart_that_is_refused_is_not_begun(world: ClusterWorld) -> None:
    world.cluster.restart_refused = "403: cannot update resource virtualmachines/restart"
    unit = applied(world, "restart")
    assert (unit.outcome, unit.codes) == ("refused", ("cluster",))
    assert world.cluster.requests == ["dry run", "restart dry run"]


def test_a_restart_that_is_refused_later_is_undone(world: ClusterWorld) -> None:
    cluster = world.cluster
    world.at_place["behind patch"] = lambda: setattr(cluster, "restart_refused", "409: no")
    unit = applied(world, "restart")
    assert (unit.outcome, cluster.nic()["model"]) == ("failed", "e1000")
    assert unit.message == "it was not restarted: 409: no; it is as before"
    assert cluster.restarts == 1


def _edits(model: str) -> Callable[[FakeCluster], None]:
    def edit(cluster: FakeCluster) -> None:
        cluster.nic()["model"] = model
        cluster.touch()

    return edit


def _renames(cluster: FakeCluster) -> None:
    cluster.nic()["name"] = "other"
    cluster.touch()


@pytest.mark.parametrize("edit", [_edits("rtl8139"), _renames], ids=["value", "name"])
@pytest.mark.parametrize("place", ["", "dry run asked", "patch asked"])
def test_an_edit_by_others_is_drift(
    world: ClusterWorld, place: str, edit: Callable[[FakeCluster], None]
) -> None:
    if place:
        world.at_place[place] = lambda: edit(world.cluster)
    else:
        edit(world.cluster)
    unit = applied(world, "restart")
    assert (unit.outcome, unit.codes) == ("refused", ("drift",))
    assert "networkInterfaceMultiqueue" not in world.cluster.devices()
    assert (world.cluster.patches, world.cluster.restarts) == ([], 1)


def test_a_change_beside_it_is_no_drift(world: ClusterWorld) -> None:
    world.at_place["patch asked"] = world.cluster.touch
    assert applied(world).outcome == "applied"
    assert world.cluster.requests == ["dry run", "patch", "patch"]


def test_an_interface_that_moved_is_found_by_its_name(world: ClusterWorld) -> None:
    applied(world)
    world.cluster.devices()["interfaces"].insert(0, {"name": "new", "model": "e1000e"})
    assert rolled_back(world).outcome == "applied"
    assert [each["model"] for each in world.cluster.devices()["interfaces"]] == ["e1000e", "e1000"]


def test_only_the_interface_that_is_gone_is_named(world: ClusterWorld) -> None:
    lan = replace(MODEL, path=MODEL.path.replace("/0/", "/1/"), name="lan")
    unit = applied(world, "next-boot", vm_step(MODEL, lan))
    assert (unit.outcome, unit.codes) == ("refused", ("drift",))
    assert unit.message == "it no longer has the interface lan: make a new plan"


_FLUX = {"labels": {"kustomize.toolkit.fluxcd.io/name": "shop"}}
_REPLICAS = {"ownerReferences": [{"kind": "VirtualMachinePool", "name": "p", "controller": True}]}


@pytest.mark.parametrize(
    ("metadata", "words"), [(_FLUX, "Flux manages it"), (_REPLICAS, "VirtualMachinePool p manages")]
)
def test_what_has_an_owner_since_is_left_to_it(
    world: ClusterWorld, metadata: dict[str, Any], words: str
) -> None:
    world.cluster.vm["metadata"].update(metadata)
    unit = applied(world)
    assert (unit.outcome, unit.codes, words in unit.message) == ("refused", ("owner",), True)
    assert world.cluster.requests == []


def test_marks_that_the_plan_knew_or_that_leave_it_to_others_do_not_count(
    world: ClusterWorld,
) -> None:
    applied_by = "kubectl.kubernetes.io/last-applied-configuration"
    world.cluster.vm["metadata"].update(_FLUX, annotations={applied_by: ""})
    unit = replace(vm_step(MODEL).unit, marks=("kustomize.toolkit.fluxcd.io/name",))
    assert applied(world, "next-boot", step_on(unit, TARGET)).outcome == "applied"


def test_a_mark_that_the_settings_name_is_looked_for_again(world: ClusterWorld) -> None:
    world.cluster.vm["metadata"]["labels"] = {"team/source": "git"}
    unit = replace(vm_step(MODEL).unit, gitops=("team/source",))
    done = applied(world, "next-boot", step_on(unit, TARGET))
    assert (done.outcome, done.codes, world.cluster.requests) == ("refused", ("owner",), [])
    assert "team/source" in done.message
    assert "a repository keeps it" in done.message.lower()


def _patched_by_others(world: ClusterWorld) -> None:
    world.cluster.nic()["model"] = "virtio"
    world.cluster.devices()["networkInterfaceMultiqueue"] = True
    world.cluster.touch()


def test_a_rollback_keeps_what_the_run_did_not_set(world: ClusterWorld) -> None:
    _patched_by_others(world)
    assert applied(world, "restart").outcome == "applied"
    back = rolled_back(world, "restart", over_edits=True)
    assert (back.outcome, back.codes) == ("refused", ("not-begun",))
    assert "this run only restarted it" in back.message
    assert world.cluster.patches == []


def test_what_was_only_restarted_and_does_not_come_back_has_its_old_nic(
    world: ClusterWorld,
) -> None:
    _patched_by_others(world)
    world.cluster.comes_back = "old"
    unit = applied(world, "restart")
    assert (unit.outcome, world.cluster.nic()["model"]) == ("rolled-back", "e1000")
    assert unit.message.endswith(
        "; what it was restarted for, a change made before this run, was taken back"
    )


def test_a_refused_restart_keeps_what_the_run_did_not_set(world: ClusterWorld) -> None:
    _patched_by_others(world)
    world.at_place["behind line begin"] = lambda: setattr(
        world.cluster, "restart_refused", "409: no"
    )
    unit = applied(world, "restart")
    assert (world.cluster.patches, world.cluster.restarts) == ([], 1), unit.message


@pytest.mark.parametrize("place", ["behind line begin", "behind restart"])
def test_a_rollback_of_an_interrupted_restart_keeps_it_too(world: ClusterWorld, place: str) -> None:
    _patched_by_others(world)
    world.kill_when = (place, 1)
    with suppress(Killed):
        applied(world, "restart")
    world.kill_when = ("", 1)
    back = rolled_back(world, "restart")
    assert back.outcome == "rolled-back", back.message
    assert (world.cluster.patches, world.cluster.nic()["model"]) == ([], "virtio")


def test_an_edit_after_the_run_is_kept_unless_asked_for(world: ClusterWorld) -> None:
    applied(world)
    world.cluster.nic()["model"] = "rtl8139"
    back = rolled_back(world)
    assert (back.outcome, back.codes) == ("refused", ("edited",))
    assert f'{MODEL.path} is "rtl8139"' in back.message
    assert rolled_back(world, over_edits=True).outcome == "applied"
    assert world.cluster.nic()["model"] == "e1000"


def _paused(cluster: FakeCluster) -> None:
    assert cluster.vmi is not None
    cluster.vmi["status"]["conditions"].append({"type": "Paused", "status": "True"})


def _migrating(cluster: FakeCluster) -> None:
    assert cluster.vmi is not None
    cluster.vmi["status"]["migrationState"] = {"startTimestamp": "2026-11-30T10:00:00Z"}


def _halted(cluster: FakeCluster) -> None:
    cluster.vmi, cluster.vm["status"]["printableStatus"] = None, "Stopped"


def _status(**fields: object) -> Callable[[FakeCluster], None]:
    return lambda cluster: cluster.vm["status"].update(fields)


@pytest.mark.parametrize(
    ("state", "code", "words"),
    [
        (_halted, "power", "it does not run (Stopped)"),
        (_paused, "busy", "it is paused"),
        (_migrating, "busy", "it is being migrated"),
        (_status(stateChangeRequests=[{"action": "Stop"}]), "busy", "a stop or a start"),
        (_status(snapshotInProgress="daily"), "busy", "the snapshot daily of it"),
        (_status(restoreInProgress="r1"), "busy", "the restore r1 of it"),
    ],
)
def test_a_virtual_machine_that_is_not_restarted(
    world: ClusterWorld, state: Callable[[FakeCluster], None], code: str, words: str
) -> None:
    state(world.cluster)
    unit = applied(world, "restart")
    assert (unit.outcome, unit.codes) == ("refused", (code,))
    assert words in unit.message
    assert world.cluster.requests == []


def test_a_halted_one_is_patched_for_its_next_start(world: ClusterWorld) -> None:
    _halted(world.cluster)
    unit = applied(world)
    assert (unit.outcome, unit.message, unit.waiting) == ("applied", "", False)


def test_another_object_of_that_name_is_left(world: ClusterWorld) -> None:
    world.cluster.vm["metadata"]["uid"] = "another"
    assert applied(world).outcome == "gone"


def _is_another(cluster: FakeCluster) -> None:
    """The context leads to another cluster, with a virtual machine of the same name."""
    cluster.vm["metadata"]["uid"] = "another"
    cluster.url = "https://other:6443"


def test_another_cluster_is_none_from_which_an_object_has_gone(world: ClusterWorld) -> None:
    _is_another(world.cluster)
    unit = applied(world)
    assert (unit.outcome, unit.codes) == ("refused", ("drift",))
    assert "it is at https://other:6443, and the change is for that at https://lab" in unit.message


def test_a_rollback_tells_another_cluster(world: ClusterWorld) -> None:
    assert applied(world).outcome == "applied"
    _is_another(world.cluster)
    unit = rolled_back(world)
    assert (unit.outcome, unit.codes) == ("refused", ("drift",))
    assert "this is another cluster" in unit.message


@pytest.mark.parametrize(
    "state", [_status(snapshotInProgress="daily"), _status(restoreInProgress="r1")]
)
def test_a_restore_would_overwrite_what_waits_for_the_next_start(
    world: ClusterWorld, state: Callable[[FakeCluster], None]
) -> None:
    state(world.cluster)
    unit = applied(world)
    assert (unit.outcome, unit.codes) == ("refused", ("busy",))
    assert world.cluster.requests == []


def _changed(step: Step, **fields: Any) -> Step:
    return replace(step, **fields)


def _restarts(comes_back: str) -> Callable[[FakeCluster], None]:
    def restart(cluster: FakeCluster) -> None:
        cluster.comes_back = comes_back
        cluster.restart("shop", "web")
        cluster.world.clock.sleep(SECONDS)

    return restart


@pytest.mark.parametrize(
    ("then", "state", "detail"),
    [
        (lambda _cluster: None, "waiting", f"until it is restarted: {RESTARTED}"),
        (_halted, "waiting", "it does not run: in effect at its next start"),
        (_restarts("with it"), "in-effect", ""),
        (_restarts("old"), "differs",
         'default model is "e1000"; networkInterfaceMultiqueue is not there'),
        (_restarts("silent"), "differs", "its guest agent does not answer"),
        (_renames, "unknown", "it no longer has the interface default"),
        (_edits("rtl8139"), "differs", f'changed since: {MODEL.path} is "rtl8139"'),
    ],
    ids=["waits", "halted", "restarted", "old", "silent", "renamed", "edited"],
)  # fmt: skip
def test_the_present_state_is_that_of_the_instance(
    world: ClusterWorld, then: Callable[[FakeCluster], None], state: str, detail: str
) -> None:
    applied(world)
    then(world.cluster)
    (run,) = all_past(StateFolder(str(world.folder)))
    (found,) = in_effect(run, world.context())
    assert (found.state, found.detail) == (state, detail)


@pytest.mark.parametrize(
    "step",
    [
        vm_step(PatchLine("/spec/runStrategy", before="Always", after="Halted")),
        vm_step(PatchLine("/spec/template/spec/volumes/0/cloudInitNoCloud/userData", after="x")),
        _changed(vm_step(MODEL), unit=replace(vm_step(MODEL).unit, patch=(QUEUES,))),
        _changed(vm_step(replace(MODEL, after="igb")), digest=vm_step(MODEL).digest),
        _changed(vm_step(MODEL), changes=(Change("default/model", "e1000", "igb", safe=True),)),
        _changed(vm_step(MODEL), unit=replace(vm_step(MODEL).unit, marks=("olm.owner",))),
        _changed(vm_step(MODEL), diff="--- shop/web\n+++ shop/web\n"),
        _changed(vm_step(MODEL), target="kube:other"),
    ],
    ids=["field", "secret", "patch", "value", "words", "marks", "diff", "target"],
)
def test_an_edited_plan_is_refused(world: ClusterWorld, step: Step) -> None:
    unit = applied(world, "next-boot", step)
    assert (unit.outcome, unit.codes) == ("refused", ("plan",))
    assert world.cluster.requests == []


def test_a_kubeconfig_that_a_plan_names_is_not_used(world: ClusterWorld) -> None:
    step = replace(vm_step(MODEL), target=f"{TARGET}?kubeconfig=/tmp/theirs")
    with pytest.raises(RefusedError, match="kubeconfig="):
        applied(world, "next-boot", step)


@pytest.mark.parametrize("words", ["patch", "restart"])
def test_an_answer_that_is_lost_is_made_up_for(world: ClusterWorld, words: str) -> None:
    world.cluster.loses = {words}
    assert applied(world, "restart").outcome == "unfinished"
    assert applied(world, "restart").outcome == "applied"
    assert (world.cluster.runs_with(), world.cluster.restarts) == ("virtio", 2)
    assert len(world.cluster.patches) == 1


def _life(world: ClusterWorld, mode: Mode, kill_at: int | None, *, back: bool = False) -> bool:
    """Whether it came to its end."""
    world.passed.clear()
    world.kill_at = kill_at
    with suppress(Killed):
        context = world.context(mode)
        world.rollback(context) if back else world.apply(STEPS, context)
        return True
    return False


@pytest.mark.parametrize("later", [0.0, 1000.0], ids=["at-once", "later"])
@pytest.mark.parametrize("resume", ["apply", "rollback"])
@pytest.mark.parametrize("comes_back", ["with it", "old"])
@pytest.mark.parametrize("mode", ["next-boot", "restart"])
def test_killed_anywhere(
    mode: Mode, comes_back: str, resume: str, later: float,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    for place in count():
        folder = tmp_path / str(place)
        world = cluster_world(folder, monkeypatch)
        world.cluster.comes_back = comes_back
        before = world.cluster.get("kube-vm", "shop", "web")["spec"]
        over = _life(world, mode, place)
        world.clock.sleep(later)
        if resume == "apply":
            assert _life(world, mode, None)
            stays = mode == "next-boot" or comes_back == "with it"
            assert (world.cluster.nic()["model"] == "virtio") is stays, place
            runs_with = "virtio" if mode == "restart" and stays else "e1000"
            assert world.cluster.runs_with() == runs_with, place
        if resume == "rollback" and runs(str(folder)):
            with suppress(UsageError):  # there was nothing to undo
                assert _life(world, mode, None, back=True)
            assert world.cluster.vm["spec"] == before, place
            world.clock.sleep(1000)
            assert world.cluster.runs_with() == "e1000", place
        assert [run for run in runs(str(folder)) if run.outcome == "unfinished"] == []
        assert world.cluster.restarts <= 4
        if over:
            break
    assert place > 10


@pytest.mark.parametrize("mode", ["next-boot", "restart"])
def test_a_rollback_killed_anywhere(
    mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in count():
        world = cluster_world(tmp_path / str(place), monkeypatch)
        before = world.cluster.get("kube-vm", "shop", "web")["spec"]
        assert _life(world, mode, None)
        over = _life(world, mode, place, back=True)
        assert over or _life(world, mode, None, back=True)
        assert world.cluster.vm["spec"] == before, place
        assert world.cluster.runs_with() == "e1000", place
        if over:
            break
    assert place > 10


def test_no_secret_is_recorded(world: ClusterWorld) -> None:
    world.cluster.vm["spec"]["template"]["spec"]["volumes"] = [
        {"name": "c", "cloudInitNoCloud": {"userData": "hunter2"}}
    ]
    applied(world, "restart")
    rolled_back(world, "restart")
    written = b"".join(one.read_bytes() for one in world.folder.rglob("*") if one.is_file())
    assert b"hunter2" not in written
    assert b"instance-1" in written
