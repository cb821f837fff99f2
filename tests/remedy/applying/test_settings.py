"""Settings of a host: changed, read again, and set back to what was read before."""

import random
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace

from tests.not_run import not_run
from tests.remedy.applying.fakes import Killed, Stage
from tests.remedy.applying.settings_host import (
    ENTRIES,
    FACTS,
    FLOWS,
    MACHINE,
    RPS,
    TARGET,
    TSO,
    TX,
    SettingsWorld,
    seen,
    settings_world,
    step_to,
    value_in,
    veth_namespace,
)
from tests.rows import rows
from vnicaudit.cli.wiring.adapters import adapters
from vnicaudit.errors import RefusedError, UsageError
from vnicaudit.knowledge.host_setting_values import value_of
from vnicaudit.knowledge.host_settings import HostSetting, SettingKind
from vnicaudit.model.host_facts import HostFacts, HostLink, Qeth, SettingOwner
from vnicaudit.model.measurement import Ran
from vnicaudit.model.plan import Step
from vnicaudit.platforms.host.visiting import settings
from vnicaudit.reaching.opening import OpenPlace
from vnicaudit.remedy.applying.history import runs
from vnicaudit.remedy.applying.rollback import RollbackSelection
from vnicaudit.remedy.planning.host_settings import owners_of, setting_diff, setting_digest


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SettingsWorld:
    return settings_world(tmp_path, monkeypatch)


OTHER_MAC = "52:54:00:00:00:02"
OTHER_MACHINE = "22" * 12


def with_links(world: SettingsWorld, *others: Mapping[str, object]) -> HostFacts:
    """The host with links that are as its one is now, except for these fields."""
    (link,) = world.host.now.links or ()
    return replace(world.host.now, links=tuple(replace(link, **each) for each in others))


def applied(world: SettingsWorld, values: dict[str, str]) -> tuple[str, str, tuple[str, ...]]:
    """Outcome, message and checks of the one unit."""
    (unit,) = world.apply((step_to(world.host.now, TARGET, values),), world.context()).run.steps
    return unit.outcome, unit.message, tuple(check.detail for check in unit.checks)


def test_what_changes_along_is_told_and_comes_back(world: SettingsWorld) -> None:
    outcome, message, checks = applied(world, {TX: "off"})
    assert (outcome, message) == ("applied", "until the next boot")
    assert checks == (f"{TX} is off", f"{TSO} changed along: off [requested on]")
    assert world.host.now != FACTS
    (back,) = world.rollback(world.context())
    assert back.run.steps[0].outcome == "applied"
    assert world.host.now == FACTS


def test_a_device_that_was_offline_has_everything_again(world: SettingsWorld) -> None:
    (link,) = FACTS.links or ()
    qeth = Qeth(device="0.0.f500", buffers=64)
    world.host.now = online = replace(FACTS, links=(replace(link, qeth=qeth),))
    outcome, _message, checks = applied(world, {"qeth:eth0:buffer_count": "128"})
    assert (outcome, checks) == ("applied", ("qeth:eth0:buffer_count is 128",))
    assert with_links(world, {"qeth": qeth}) == online
    world.rollback(world.context())
    assert world.host.now == online


def test_what_somebody_else_changed_beside_it_stays(world: SettingsWorld) -> None:
    applied(world, {TSO: "off"})
    world.host.put("queue-length:eth0", "500")
    world.rollback(world.context())
    (link,) = world.host.now.links or ()
    assert (link.queue_length, link.features) == (500, FACTS.links and FACTS.links[0].features)


@pytest.mark.parametrize(
    ("values", "kept"),
    [({FLOWS: "1000"}, f"{FLOWS} is 1024"), ({RPS: "33"}, f"{RPS} is 3"),
     ({ENTRIES: "20000"}, f"{ENTRIES} is 32768")],
)  # fmt: skip
def test_what_the_kernel_makes_of_a_value_is_said(
    world: SettingsWorld, values: dict[str, str], kept: str
) -> None:
    outcome, _message, checks = applied(world, values)
    (asked,) = values.values()
    assert (outcome, checks) == ("applied", (f"{kept} (the kernel's form of {asked})",))
    step = step_to(FACTS, TARGET, values)
    (again,) = world.apply((step,), world.context(), b"another plan").run.steps
    assert again.outcome == "already"
    (back, *_others) = world.rollback(world.context(), run=runs(str(world.folder))[-1].id)
    assert (back.run.steps[0].outcome, world.host.now) == ("applied", FACTS)


def test_accepted_but_not_applied_is_a_failure_and_undone(world: SettingsWorld) -> None:
    world.host.ignores = TX
    outcome, message, _checks = applied(world, {TX: "off", RPS: "3"})
    assert outcome == "failed"
    assert f"accepted but not applied: {TX} is on, not off; its settings are as before" in message
    assert world.host.now == FACTS


def test_what_is_not_accepted_takes_the_others_back(world: SettingsWorld) -> None:
    world.host.refuses = {RPS: 9}
    outcome, message, _checks = applied(world, {TX: "off", RPS: "3"})
    assert (outcome, world.host.now) == ("failed", FACTS)
    assert f"{RPS}: 3 was not accepted: Operation not supported" in message


def test_a_setting_that_changed_since_the_plan_is_left(world: SettingsWorld) -> None:
    step = step_to(world.host.now, TARGET, {RPS: "3"})
    world.host.put(RPS, "1")
    (unit,) = world.apply((step,), world.context()).run.steps
    assert (unit.outcome, unit.codes) == ("refused", ("drift",))
    assert f"({RPS}=1)" in unit.message


def test_a_setting_that_changed_since_the_run_is_left(world: SettingsWorld) -> None:
    applied(world, {RPS: "3"})
    world.host.put(RPS, "1")
    (back,) = world.rollback(world.context())
    assert (back.run.steps[0].outcome, back.run.steps[0].codes) == ("refused", ("edited",))
    world.rollback(world.context(), RollbackSelection(over_edits=True))
    assert world.host.now == FACTS


def test_a_device_that_is_gone_ends_the_unit(world: SettingsWorld) -> None:
    applied(world, {RPS: "3"})
    world.host.now = replace(FACTS, links=())
    (back,) = world.rollback(world.context())
    assert back.run.steps[0].outcome == "gone"
    assert "if it has another name now, it keeps the settings" in back.run.steps[0].message


def test_a_device_with_its_mac_address_is_named(world: SettingsWorld) -> None:
    applied(world, {RPS: "3"})
    applied_to = world.host.now
    for names, is_named in ((["lan0"], True), (["lan0", "lan1"], False)):
        world.host.now = applied_to
        world.host.now = renamed = with_links(world, *({"name": name} for name in names))
        (back,) = world.rollback(world.context())
        assert back.run.steps[0].outcome == "gone"
        told = (
            "eth0 is no longer there, but lan0 has its MAC address: " in back.run.steps[0].message
        )
        assert (told, world.host.now) == (is_named, renamed)


def test_another_device_or_host_of_its_name_is_left(world: SettingsWorld) -> None:
    step = step_to(world.host.now, TARGET, {RPS: "3"})
    others = {
        "another device has the name eth0 now": with_links(world, {"mac": OTHER_MAC}),
        f"another host answers as {TARGET} now": replace(FACTS, machine=OTHER_MACHINE),
    }
    for told, other in others.items():
        world.host.now = other
        (unit,) = world.apply((step,), world.context()).run.steps
        assert (unit.outcome, unit.codes, world.host.now) == ("refused", ("drift",), other)
        assert told in unit.message


def test_another_device_that_got_its_name_since_is_left(world: SettingsWorld) -> None:
    applied(world, {RPS: "3"})
    world.host.now = other = with_links(world, {"mac": OTHER_MAC})
    (back,) = world.rollback(world.context())
    (unit,) = back.run.steps
    assert (unit.outcome, unit.codes, world.host.now) == ("refused", ("edited",), other)
    assert "another device has the name eth0 now" in unit.message
    world.rollback(world.context(), RollbackSelection(over_edits=True))
    assert with_links(world, {"mac": "52:54:00:00:00:01"}) == FACTS


def test_another_host_that_got_its_name_since_is_left(world: SettingsWorld) -> None:
    applied(world, {RPS: "3"})
    world.host.now = other = replace(world.host.now, machine=OTHER_MACHINE)
    for over_edits in (False, True):
        (back,) = world.rollback(world.context(), RollbackSelection(over_edits=over_edits))
        (unit,) = back.run.steps
        assert (unit.outcome, unit.codes, world.host.now) == ("refused", ("drift",), other)
    world.host.now = replace(world.host.now, machine=MACHINE)
    world.rollback(world.context())
    assert world.host.now == FACTS


def test_a_container_is_not_its_host(world: SettingsWorld) -> None:
    step = step_to(world.host.now, TARGET, {RPS: "3"})
    world.host.now = replace(FACTS, container="docker")
    (unit,) = world.apply((step,), world.context()).run.steps
    assert (unit.outcome, unit.codes) == ("refused", ("state",))


def test_a_link_that_was_put_into_a_bond_since_keeps_its_features(world: SettingsWorld) -> None:
    step = step_to(world.host.now, TARGET, {TX: "off"})
    (link,) = FACTS.links or ()
    bond = HostLink(name="bond0", kind="bond")
    world.host.now = bonded = replace(FACTS, links=(replace(link, master="bond0"), bond))
    (unit,) = world.apply((step,), world.context()).run.steps
    assert (unit.outcome, unit.codes, world.host.now) == ("refused", ("state",), bonded)


@rows
def test_an_edited_plan_sets_nothing_else(world: SettingsWorld, field: str, value: str) -> None:
    step = step_to(world.host.now, TARGET, {RPS: "3"})
    old, values = {field: {"on": "off", "off": "on"}.get(value, "1")}, {field: value}
    unit = replace(step.unit, values=values, old=old)
    diff, digest = setting_diff("eth0", old, values), setting_digest(TARGET, unit)
    step = replace(step, unit=unit, diff=diff, digest=digest)
    (result,) = world.apply((step,), world.context()).run.steps
    assert (result.outcome, result.codes) == ("refused", ("plan",))
    assert world.host.now == FACTS


@pytest.mark.parametrize("part", ["host", "machine", "device"])
def test_a_plan_is_for_its_host_and_device_alone(world: SettingsWorld, part: str) -> None:
    step = step_to(world.host.now, TARGET, {RPS: "3"})
    other_device = replace(step, unit=replace(step.unit, mac=OTHER_MAC))
    other_machine = replace(step, unit=replace(step.unit, machine=""))
    step = {
        "host": replace(step, target="local"), "machine": other_machine, "device": other_device,
    }[part]  # fmt: skip
    (unit,) = world.apply((step,), world.context()).run.steps
    assert (unit.outcome, unit.codes) == ("refused", ("plan",))
    assert world.host.now == FACTS


def test_a_plan_names_no_program_to_reach_a_host(world: SettingsWorld) -> None:
    step = replace(step_to(FACTS, TARGET, {RPS: "3"}), target="ssh://kvm1?ssh_config=/tmp/x")
    with pytest.raises(RefusedError, match="ssh_config= may start a program"):
        world.apply((step,), world.context())


@rows
def test_who_owns_a_setting(owner: str, sets: list[str], of: str, owned: bool) -> None:
    links = tuple(
        HostLink(name=name, qeth=Qeth(device=device))
        for name, device in (("osa0", "0.0.f500"), ("osa1", "0.0.f600"))
    )
    found = SettingOwner(name=owner, evidence="/x", sets=tuple(sets))
    kind, device, name = of.split(":", 2)
    setting = HostSetting(cast(SettingKind, kind), device, name)
    assert owners_of([setting], HostFacts(links=links, owners=(found,))) == [found] * owned


@rows
def test_an_owner_makes_its_own_changes(
    owner: str, sets: list[str], field: str, is_blocked: bool
) -> None:
    by = SettingOwner(name=owner, evidence="/x", sets=tuple(sets))
    step = step_to(replace(FACTS, owners=(by,)), TARGET, {field: "1" if field != TX else "off"})
    assert [one.code for one in step.blocked] == ["owner-changes-it"] * is_blocked
    told = (*(one.text for one in step.blocked), *step.notes)
    assert any("/x" in text for text in told) is (is_blocked or owner == "ifupdown")


# The program is ended anywhere, and run again or taken back.

CHANGES = {TX: "off", RPS: "3", FLOWS: "1000"}


def folders(folder: Path) -> Iterator[Path]:
    return (folder / str(number) for number in count())


def life(world: SettingsWorld, step: Step, kill_at: int | None, *, back: bool = False) -> bool:
    """Whether it came to its end."""
    world.passed.clear()
    world.kill_at = kill_at
    with suppress(Killed):
        world.rollback(world.context()) if back else world.apply((step,), world.context())
        return True
    return False


@pytest.mark.parametrize("goes_on", [False, True])
@pytest.mark.parametrize("resume", ["apply", "rollback"])
def test_killed_anywhere(
    resume: str, goes_on: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place, folder in enumerate(folders(tmp_path)):
        world = settings_world(folder, monkeypatch)
        world.host.goes_on = goes_on
        step = step_to(FACTS, TARGET, CHANGES)
        over = life(world, step, place)
        if resume == "apply":
            assert life(world, step, None)
            assert world.host.now != FACTS
        if runs(str(folder)):
            assert life(world, step, None, back=True)
        assert world.host.now == FACTS, place
        assert [run for run in runs(str(folder)) if run.outcome == "unfinished"] == []
        if over:
            break
    assert place > len(CHANGES) * 2


def killed_worlds(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[int, SettingsWorld, Step]]:
    """For each place in turn a world in which the program was killed there."""
    step = step_to(FACTS, TARGET, CHANGES)
    for place, own in enumerate(folders(folder)):
        world = settings_world(own, monkeypatch)
        if life(world, step, place):
            break
        yield place, world, step
    assert place > len(CHANGES) * 2


@pytest.mark.parametrize("resume", ["apply", "rollback"])
@pytest.mark.parametrize("what", ["setting", "device"])
def test_what_was_changed_after_the_end_of_the_program_is_kept(
    what: str, resume: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A setting, or another device that got the name."""
    for place, world, step in killed_worlds(tmp_path, monkeypatch):
        if what == "setting":
            world.host.put(RPS, "4")
        else:
            world.host.now = with_links(world, {"mac": OTHER_MAC})
        other = world.host.now
        if resume == "apply":
            life(world, step, None)
        elif runs(str(world.folder)):
            life(world, step, None, back=True)
        if what == "setting":
            assert value_in(world.host.now, RPS) == "4", place
        else:
            assert world.host.now == other, place


def test_another_host_that_got_the_name_after_the_end_of_the_program_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place, world, step in killed_worlds(tmp_path, monkeypatch):
        was = world.host.now
        world.host.now = other = replace(was, machine=OTHER_MACHINE)
        life(world, step, None)
        assert world.host.now == other, place
        world.host.now = was
        life(world, step, None)
        for run in runs(str(world.folder)):
            with suppress(UsageError):  # another run made the change
                world.rollback(world.context(), run=run.id)
        assert world.host.now == FACTS, place


def test_killed_on_the_way_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place, folder in enumerate(folders(tmp_path)):
        world = settings_world(folder, monkeypatch)
        step = step_to(FACTS, TARGET, CHANGES)
        assert life(world, step, None)
        over = life(world, step, place, back=True)
        assert life(world, step, None, back=True)
        assert world.host.now == FACTS, place
        if over:
            break


# A real network namespace, seen by other programs than those of the product.


def test_random_settings_come_back_to_the_byte(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """With ``--long`` 200 changes, else a few."""
    with veth_namespace() as namespace:
        target, stage = f"netns://{namespace}", Stage(tmp_path)
        place = stage.adapters.host(target, 15)
        before = seen(namespace)
        for seed in range(200 if pytestconfig.getoption("--long") else 3):
            facts = place.facts()
            values = _drawn(random.Random(seed), facts)
            step = step_to(facts, target, values)
            text = f"plan {seed}".encode()
            (unit,) = stage.apply((step,), stage.context(), text).run.steps
            assert unit.outcome in ("applied", "already"), (values, unit.message)
            if unit.outcome == "applied":
                assert seen(namespace) != before, values
                (back,) = stage.rollback(stage.context(), run=runs(str(tmp_path))[0].id)
                assert back.run.steps[0].outcome == "applied", (values, back.run.steps[0].message)
            assert seen(namespace) == before, values
        place.close()


def _drawn(numbers: random.Random, facts: HostFacts) -> dict[str, str]:
    """Some settings of v0, and values for them."""
    cpus = facts.cpus.online or (0,)
    mask = f"{numbers.randrange(1, 1 << len(cpus)):x}"
    choices = {
        "rps:v0:rx-0": mask,
        "rps:v0:rx-1": mask,
        "xps:v0:tx-1": mask,
        "rps-flows:v0:rx-0": str(numbers.randrange(1, 5000)),
        "queue-length:v0": str(numbers.randrange(1, 5000)),
    }
    (link,) = (link for link in facts.links or () if link.name == "v0")
    for name, feature in sorted((link.features or {}).items()):
        if name in _SWITCHED:
            choices[f"feature:v0:{name}"] = "off" if feature.on else "on"
    drawn = numbers.sample(sorted(choices), numbers.randrange(1, 4))
    features = [field for field in drawn if field.startswith("feature:")]
    return {field: choices[field] for field in drawn if field not in features[1:]}


_SWITCHED = (
    "tx-checksumming",
    "scatter-gather",
    "tcp-segmentation-offload",
    "generic-segmentation-offload",
    "generic-receive-offload",
)


def test_all_settings_of_a_pass_are_one_command(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[object] = []
    run = OpenPlace.run

    def counted(place: OpenPlace, argv: Sequence[str], *, seconds: float) -> Ran:
        ran.append(argv)
        return run(place, argv, seconds=seconds)

    monkeypatch.setattr(OpenPlace, "run", counted)
    length, mask = HostSetting("queue-length", "v0"), HostSetting("rps", "v0", "rx-0")
    odd = HostSetting("xps", "v0", "tx-9")
    with veth_namespace() as namespace:
        place = adapters().host(f"netns://{namespace}", 15)
        facts, refused = place.set([(mask, "1"), (odd, "1"), (length, "77")])
        assert len(ran) == 1
        assert (value_of(facts, mask), value_of(facts, length)) == ("1", "77")
        assert list(refused) == [odd]
        assert refused[odd].startswith("1 was not accepted: ")
        ran.clear()
        monkeypatch.setattr(settings, "_MOST_BYTES", 12 * 2**10)
        facts, refused = place.set([(length, str(1 + number)) for number in range(600)])
        assert (len(ran), value_of(facts, length), refused) == (3, "600", {})


def set_by_hand(namespace: str, *words: str) -> str:
    """Everything there, once somebody has run that program."""
    if shutil.which("ethtool") is None:
        not_run("tests", "ethtool is not installed")
    subprocess.run(["ip", "netns", "exec", namespace, *words], check=True)
    return seen(namespace)


def test_checksums_and_what_goes_with_them_in_a_namespace(tmp_path: Path) -> None:
    with veth_namespace() as namespace:
        target, stage = f"netns://{namespace}", Stage(tmp_path)
        facts = stage.adapters.host(target, 15).facts()
        before = set_by_hand(namespace, "ethtool", "-K", "v0", "tx-checksum-sctp", "off")
        step = step_to(facts, target, {"feature:v0:tx-checksumming": "off"})
        (unit,) = stage.apply((step,), stage.context()).run.steps
        assert unit.outcome == "applied"
        assert "\ttx-tcp-segmentation: off [requested on]" in seen(namespace)
        stage.rollback(stage.context())
        assert seen(namespace) == before


def test_masks_of_queues_go_and_come_back_with_their_channels(tmp_path: Path) -> None:
    with veth_namespace() as namespace:
        target, stage = f"netns://{namespace}", Stage(tmp_path)
        mask = "echo 1 > /sys/class/net/v0/queues/rx-1/rps_cpus"
        before = set_by_hand(namespace, "sh", "-c", mask)
        facts = stage.adapters.host(target, 15).facts()
        step = step_to(facts, target, {"channels:v0:rx": "1", "mtu:v0": "1400"})
        (unit,) = stage.apply((step,), stage.context()).run.steps
        assert unit.outcome == "applied"
        told = [check.detail for check in unit.checks]
        assert "rps:v0:rx-1 changed along: it is gone" in told
        assert " mtu 1400 " in seen(namespace)
        assert "/v0/queues/rx-1/" not in seen(namespace)
        stage.rollback(stage.context())
        assert seen(namespace) == before
