"""What is looked at before a server, an image or a flavor is touched, and why it may be refused."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.remedy.applying.clouds.fakes import (
    MODEL,
    CloudWorld,
    Fault,
    flavor_step,
    image_step,
    server_step,
)
from tests.rows import rows
from vnicaudit.errors import ActionError, UsageError
from vnicaudit.model.finding import Change
from vnicaudit.model.plan import DomainUnit, FileUnit, Mode, Step
from vnicaudit.model.runs import ServerState, UnitRun
from vnicaudit.remedy.applying.apply import dry_run_apply
from vnicaudit.remedy.applying.clouds.stored_properties import Phase, phase

MULTIQUEUE = "hw_vif_multiqueue_enabled"


def refused(world: CloudWorld, step: Step, mode: Mode = "restart", *, again: bool = False) -> str:
    """Why it is, in a sentence."""
    return refusal(world, step, mode, again=again).message


def refusal(
    world: CloudWorld, step: Step, mode: Mode = "restart", *, again: bool = False
) -> UnitRun:
    """Why it is; neither a run nor a look changes anything. ``again``: something was changed
    before."""
    if again:
        world.calls.clear()
    before = [(one.vm_state, dict(one.kept)) for one in world.servers]
    (seen,) = dry_run_apply((step,), b"plan", world.context(mode))
    (unit,) = world.apply((step,), world.context(mode)).run.steps
    assert unit.outcome == "refused"
    assert (unit.outcome, unit.message, unit.codes) == (seen.outcome, seen.message, seen.codes)
    assert unit.codes
    assert [(one.vm_state, one.kept) for one in world.servers] == before
    assert not {"stop", "start", "hard_reboot", "set", "set_image"} & set(world.calls)
    return unit


@pytest.mark.parametrize(
    "edit",
    [
        {"unit": DomainUnit()},
        {"unit": FileUnit("a.xml")},
        {"target": "qemu:///system"},
        {"target": ""},
    ],
)
def test_a_step_that_an_edit_made_one_of_two_kinds(world: CloudWorld, edit: dict[str, Any]) -> None:
    step = replace(server_step(world.servers[0]), **edit)
    with pytest.raises(UsageError) as raised:
        world.apply((step,), world.context("restart"))
    assert str(raised.value) == (
        f"step server-1: {step.target!r} has no units of kind {step.unit.kind!r} that can "
        "be changed: undo your edits of the plan, or make a new one"
    )
    with pytest.raises(UsageError, match="undo your edits of the plan"):
        dry_run_apply((step,), b"plan", world.context("restart"))
    assert world.calls == []


def applied(world: CloudWorld, step: Step, mode: Mode = "restart") -> UnitRun:
    """How it ended."""
    (unit,) = world.apply((step,), world.context(mode)).run.steps
    return unit


@pytest.mark.parametrize("says_kept", [True, False])
@rows
def test_a_server_that_is_not_as_planned(
    world: CloudWorld, facts: dict[str, Any], code: str, words: str, *, says_kept: bool
) -> None:
    """``says_kept``: Nova 31 and later; before, it says it of no server."""
    world.says_kept = says_kept
    (server,) = world.servers
    server.boot()
    step = server_step(server)
    for name, value in facts.items():
        setattr(server, name, value)
    unit = refusal(world, step)
    assert (code in unit.codes, words in unit.message) == (True, True)


@pytest.mark.parametrize(
    ("status", "does"), [("ACTIVE", "on"), ("SHUTOFF", "off"), ("ERROR", "error"), ("X", "other")]
)
def test_a_cloud_that_tells_the_status_alone(status: str, does: Phase) -> None:
    assert phase(ServerState("id", "name", status)) == does


def test_a_node_that_is_maintained_works(world: CloudWorld) -> None:
    (server,) = world.servers
    server.boot()
    server.host_status = "MAINTENANCE"
    assert applied(world, server_step(server)).outcome == "applied"


def test_all_that_is_wrong_is_said_at_once(world: CloudWorld) -> None:
    (server,) = world.servers
    server.boot()
    server.locked, server.host_status = True, "DOWN"
    reason = refused(world, server_step(server), "next-boot")
    assert [part.partition(" ")[0] for part in reason.split("; ")] == ["it", "Nova", "nova-compute"]


def test_one_that_runs_has_to_be_stopped_for_it(world: CloudWorld) -> None:
    (server,) = world.servers
    server.boot()
    assert refused(world, server_step(server), "next-boot").endswith("use --mode restart")


def test_its_guest_went_off_and_nova_has_not_noticed(world: CloudWorld) -> None:
    (server,) = world.servers
    server.boot()
    world.shown_as = {"power_state": 4}
    assert "its guest has shut down" in refused(world, server_step(server))


@pytest.mark.parametrize(
    ("release", "manages", "words"),
    [
        ((24, 24), "34.0.0", "this is Nova 24, which cannot change what it keeps"),
        ((24, 25), "24.1.0", "this is Nova 24, which cannot change what it keeps"),
    ],
)
def test_a_nova_that_is_too_old(
    world: CloudWorld, release: tuple[int, int], manages: str, words: str
) -> None:
    world.release, world.manages = release, manages
    assert words in refused(world, server_step(world.servers[0]))


@pytest.mark.parametrize(("manages", "cautious"), [("29.2.0", True), ("30.0.0", False)])
def test_a_nova_in_which_it_may_not_last(
    world: CloudWorld, manages: str, *, cautious: bool
) -> None:
    world.manages = manages
    message = applied(world, server_step(world.servers[0])).message
    assert ("2078999" in message) is cautious
    assert ("a resize or cold migration brings the old value back" in message) is cautious
    assert message.startswith("in effect when it is started")


@pytest.mark.parametrize("thorough", [True, False])
def test_the_controller_of_another_cloud(world: CloudWorld, *, thorough: bool) -> None:
    """It has a server of that id, and says something else."""
    (server,) = world.servers
    server.boot()
    step = server_step(server)
    world.shown_as = {"stored_properties": {MODEL: "rtl8139"}}
    server.kept[MODEL] = "e1000"
    words = "hw_vif_model is rtl8139 in Nova's API, but e1000 in nova-manage"
    if thorough:
        unit = applied(world, step)
        assert (unit.outcome, words in unit.message) == ("failed", True)
    else:
        (seen,) = dry_run_apply((step,), b"plan", world.context("restart"))
        assert (seen.outcome, words in seen.message) == ("failed", True)
    assert "stop" not in world.calls


def test_a_look_at_many_asks_nova_manage_about_one(make_cloud: Any) -> None:
    """It takes four seconds each time."""
    world = make_cloud(3)
    steps = tuple(server_step(server) for server in world.servers)
    dry_run_apply(steps, b"plan", world.context("restart"))
    assert world.calls == ["version", "show"]


def test_a_run_asks_nova_manage_about_each_before_it_is_stopped(make_cloud: Any) -> None:
    world = make_cloud(2)
    for server in world.servers:
        server.boot()
    world.apply(tuple(server_step(server) for server in world.servers), world.context("restart"))
    each = ["show", "stop", "set", "start"]
    assert world.calls == ["version", *each, *each]


@pytest.mark.parametrize("state", ["stopped", "shelved", "shelved_offloaded"])
@pytest.mark.parametrize("mode", ["next-boot", "restart"])
def test_a_server_that_is_off_stays_off(world: CloudWorld, state: str, mode: Mode) -> None:
    """One that is shelved and boots from a volume has no snapshot."""
    (server,) = world.servers
    server.vm_state, server.image = state, state == "stopped"
    unit = applied(world, server_step(server), mode)
    later = "started" if state == "stopped" else "unshelved"
    assert (unit.outcome, unit.message) == ("applied", f"in effect when it is {later}")
    assert (server.vm_state, server.kept[MODEL]) == (state, "virtio")
    assert [check.name for check in unit.checks] == ["kept"]
    assert unit.downtime is None


def test_what_is_so_already_is_left_alone(world: CloudWorld) -> None:
    (server,) = world.servers
    server.boot()
    step = server_step(server)
    server.kept[MODEL] = "Virtio"
    (seen,) = dry_run_apply((step,), b"plan", world.context("restart"))
    assert (seen.outcome, seen.message) == ("already", "nothing to do: it is already as planned")
    assert applied(world, step).outcome == "already"
    assert server.vm_state == "active"


def test_a_flag_that_is_not_set_is_off(world: CloudWorld) -> None:
    """So it can be put back."""
    (server,) = world.servers
    server.boot()
    assert applied(world, server_step(server, {MULTIQUEUE: "true"})).outcome == "applied"
    assert server.kept[MULTIQUEUE] == "true"
    world.rollback(world.context("restart"))
    assert (server.kept[MULTIQUEUE], server.vm_state) == ("false", "active")


def test_a_model_that_is_not_set_goes_back_to_what_ran(world: CloudWorld) -> None:
    (server,) = world.servers
    del server.kept[MODEL]
    server.boot()
    assert applied(world, server_step(server)).outcome == "applied"
    world.rollback(world.context("restart"))
    assert (server.kept[MODEL], server.vm_state) == ("rtl8139", "active")


def test_without_a_way_back_it_is_not_begun(world: CloudWorld) -> None:
    (server,) = world.servers
    del server.kept[MODEL]
    step = replace(server_step(server), changes=(Change("model", None, "virtio", safe=True),))
    assert "hw_vif_model is not set, and the change could not be undone" in refused(world, step)


def test_a_plan_that_was_edited(world: CloudWorld) -> None:
    (server,) = world.servers
    step = server_step(server)
    other = replace(step.unit, properties={MODEL: "e1000"})
    assert "does not match its diff" in refused(world, replace(step, unit=other))
    other = replace(step.unit, old={MODEL: "e1000"})
    assert "does not match its diff" in refused(world, replace(step, unit=other))
    other = replace(step.unit, old={})
    assert "do not match its changes" in refused(world, replace(step, unit=other))


def test_an_image_that_changed(world: CloudWorld) -> None:
    step = image_step(world, {MODEL: "virtio"})
    world.image[MODEL] = "e1000"
    assert refusal(world, step).codes == ("drift",)


@pytest.mark.parametrize("name", ["visibility", "os_hidden", "owner", "hw_/../x"])
def test_an_image_is_given_no_other_property(world: CloudWorld, name: str) -> None:
    assert "is not a NIC property" in refused(world, image_step(world, {name: "public"}))


def test_an_image(world: CloudWorld) -> None:
    unit = applied(world, image_step(world, {MODEL: "virtio", "os_distro": None}), "next-boot")
    assert (unit.outcome, unit.kind) == ("applied", "image")
    assert unit.message.startswith("new servers created from it will have it")
    assert world.image == {MODEL: "virtio"}
    world.rollback(world.context())
    assert world.image == {MODEL: "rtl8139", "os_distro": "debian"}


def test_an_image_that_somebody_changed_since(world: CloudWorld) -> None:
    applied(world, image_step(world, {MODEL: "virtio"}))
    world.image[MODEL] = "e1000"
    (went,) = world.rollback(world.context())
    assert went.run.steps[0].codes == ("edited",)
    assert world.image[MODEL] == "e1000"


def test_a_flavor_that_changed(world: CloudWorld) -> None:
    step = flavor_step(world, {"hw:mem_page_size": None})
    world.flavors["m1"].properties["hw:mem_page_size"] = "any"
    assert refusal(world, step).codes == ("drift",)


def test_a_flavor_is_copied_once_and_goes_when_nobody_has_it(world: CloudWorld) -> None:
    step = flavor_step(world, {"hw:mem_page_size": None, "hw:vif_multiqueue_enabled": "true"})
    unit = applied(world, step)
    assert (unit.outcome, unit.kind) == ("applied", "flavor")
    (copy,) = [flavor for flavor in world.flavors.values() if flavor.id != "m1"]
    assert copy.name == "m1.small-multiqueue"
    assert copy.properties == {"hw:vif_multiqueue_enabled": "true"}
    assert applied(world, step).outcome == "already"

    world.flavor_users = 2
    (went,) = world.rollback(world.context())
    assert went.run.steps[0].message == (
        "2 servers use the flavor m1.small-multiqueue: resize to another one first"
    )
    world.flavor_users = 0
    world.rollback(world.context())
    assert list(world.flavors) == ["m1"]


@rows
def test_one_that_was_stopped_or_started_since_the_plan(
    world: CloudWorld, planned: str, now: str, words: str
) -> None:
    """A restart was reviewed, or none."""
    (server,) = world.servers
    server.vm_state, server.image = planned, now != "shelved_offloaded"
    step = server_step(server)
    server.vm_state = now
    unit = refusal(world, step)
    assert (unit.codes, words in unit.message) == (("power",), True)


def test_one_that_was_changed_and_started_since_the_plan_needs_nothing(world: CloudWorld) -> None:
    (server,) = world.servers
    step = server_step(server)
    server.kept[MODEL] = "virtio"
    server.boot()
    assert applied(world, step).outcome == "already"


def test_one_that_has_it_and_is_off_is_no_success(world: CloudWorld) -> None:
    """Another run may be in the middle of it: nothing proves that it comes up."""
    (server,) = world.servers
    server.boot()
    step = server_step(server)
    server.vm_state, server.kept[MODEL] = "stopped", "virtio"
    assert "when the plan was made, and is SHUTOFF now" in refused(world, step)


@pytest.mark.parametrize("planned", ["stopped", "shelved"])
def test_one_that_was_off_in_another_way_is_as_planned(world: CloudWorld, planned: str) -> None:
    (server,) = world.servers
    server.vm_state, server.image = planned, False
    step = server_step(server)
    server.vm_state = "stopped" if planned == "shelved" else "shelved"
    assert applied(world, step).outcome == "applied"


def test_another_host_is_no_reason(world: CloudWorld) -> None:
    """It was migrated: what is kept went there with it."""
    (server,) = world.servers
    server.boot()
    step = server_step(server, host="cmp1")
    world.shown_as = {"host": "cmp2"}
    assert applied(world, step).outcome == "applied"


@pytest.mark.parametrize("status", ["", "SOFT_DELETED", "DELETED"])
def test_a_server_that_is_gone(world: CloudWorld, status: str) -> None:
    (server,) = world.servers
    server.boot()
    step = server_step(server)
    world.shown_as = {"status": status} if status else {}
    server.deleted = not status
    done = world.apply((step,), world.context("restart"))
    (unit,) = done.run.steps
    assert (unit.outcome, done.run.outcome, done.stopped) == ("gone", "done", "")
    words = f"it is deleted ({status}; while it is not removed, openstack --os-cloud test server "
    assert unit.message.startswith(words if status else f"server {server.id} no longer exists")
    assert unit.message.endswith(": there is nothing left to do")
    assert "stop" not in world.calls


def test_volumes_that_cannot_be_looked_at(world: CloudWorld) -> None:
    """It might not come up again. One that is off is not started, so it needs none."""
    (server,) = world.servers
    world.faults["volumes"] = Fault(ActionError("Cinder knows no volume 1"), "before", None)
    assert applied(world, server_step(server)).outcome == "applied"
    server.keep({MODEL: "rtl8139"})
    server.boot()
    assert refused(world, server_step(server), again=True) == "Cinder knows no volume 1"
