"""Settings of a host that files keep beyond its next boot."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.remedy.applying.fakes import Killed, Stage
from tests.remedy.applying.settings_host import (
    ENTRIES,
    FACTS,
    RPS,
    TARGET,
    TX,
    SettingsWorld,
    settings_world,
    steps_to,
    veth_namespace,
)
from vnicaudit.knowledge.host_settings import KEEPING, HostSetting, effect_of, words_to_set
from vnicaudit.model.host_facts import HostFacts, Ovs, SettingOwner
from vnicaudit.model.plan import SettingUnit, UnitStep
from vnicaudit.remedy.applying.history import runs
from vnicaudit.remedy.applying.rollback import RollbackSelection
from vnicaudit.remedy.planning.host_settings import setting_diff, setting_digest

RULES, SYSCTLS, _TMPFILES, MODULES = KEEPING
MODULE = "module::vhost_net"
RPS_FILE = "90-vnicaudit-eth0-rps.rules"
LINKS = tuple(replace(link, physical=True) for link in FACTS.links or ())
KEPT = replace(FACTS, links=LINKS, own_files={folder: {} for folder in KEEPING})
TUNED = SettingOwner(name="tuned", evidence="/etc/tuned/active_profile", sets=("rps",))


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SettingsWorld:
    world = settings_world(tmp_path, monkeypatch)
    world.host.now = KEPT
    return world


def test_both_steps_are_shown_with_their_diffs() -> None:
    at_once, kept = steps_to(KEPT, TARGET, {RPS: "3"})
    assert at_once.diff == f"--- eth0\n+++ eth0\n@@ settings @@\n-{RPS}=0\n+{RPS}=3\n"
    assert at_once.notes == ("It lasts until the next boot; the next step keeps it.",)
    first, second, *lines = kept.diff.splitlines()
    assert (first, second) == ("--- /dev/null", f"+++ {RULES}/{RPS_FILE}")
    assert lines == [
        "@@ -0,0 +1,2 @@",
        "+# Written by vnicaudit; taken back by: vnicaudit rollback RUN",
        '+ACTION=="add|move", SUBSYSTEM=="net", DRIVERS=="?*", ATTR{address}=="52:54:00:00:00:01", '
        "RUN+=\"/bin/sh -c 'echo 3 > /sys/class/net/$name/queues/rx-0/rps_cpus'\"",
    ]
    assert "whatever the mode" in kept.modes[0].reason
    assert (effect_of(kept.unit.values), effect_of(at_once.unit.values)) == (
        "from the next boot on", "at once, until the next boot",
    )  # fmt: skip


def test_what_open_vswitch_keeps_is_told_beside_what_a_file_keeps() -> None:
    facts = replace(KEPT, ovs=Ovs(other_config={}))
    at_once, kept = steps_to(facts, TARGET, {ENTRIES: "32768", "ovs::pmd-cpu-mask": "0x2"})
    assert [note.partition(" keeps ")[0] for note in at_once.notes[:2]] == [
        "It lasts until the next boot; the next step", "Open vSwitch",
    ]  # fmt: skip
    assert [*kept.unit.values] == [f"file::{SYSCTLS}/99-vnicaudit-{ENTRIES.split(':')[2]}.conf"]


@pytest.mark.parametrize(
    ("facts", "target", "why"),
    [
        (FACTS, TARGET, "the host has no /etc/udev/rules.d"),
        (KEPT, "netns://blue", "a network namespace is gone by then"),
    ],
)
def test_where_no_file_keeps_it_the_reason_is_said(facts: HostFacts, target: str, why: str) -> None:
    (step,) = steps_to(facts, target, {RPS: "3"})
    assert f"It lasts until the next boot: {why}." in step.notes


def test_what_configures_the_network_is_named_with_its_words() -> None:
    netplan = SettingOwner(name="netplan", evidence="/etc/netplan/50.yaml", sets=("links",))
    stanza = SettingOwner(name="ifupdown", evidence="/etc/network/interfaces", sets=("links",))
    at_once, _kept = steps_to(replace(KEPT, owners=(netplan, stanza)), TARGET, {TX: "off"})
    assert at_once.notes[1].startswith("It may interrupt traffic. Where the way to the host leads")
    assert at_once.notes[2:] == (  # netplan's offloads are set before rules of udev act
        "ifupdown (/etc/network/interfaces) configures links there, and may set it again; in its "
        "words: offload-tx off in its stanza of interfaces.",
    )


def test_a_file_names_its_run_and_goes_with_its_rollback(world: SettingsWorld) -> None:
    run = world.apply(steps_to(KEPT, TARGET, {RPS: "3"}), world.context()).run
    (unit,) = run.steps
    assert (unit.outcome, unit.message) == ("applied", "now, and from the next boot on")
    assert [check.detail for check in unit.checks] == [
        f"{RPS} is 3", f"{RULES}/{RPS_FILE} is there",
    ]  # fmt: skip
    head = world.host.files[RULES][RPS_FILE].split("\n")[0]
    assert head == f"# Written by vnicaudit; taken back by: vnicaudit rollback {run.id}"
    again = world.apply(steps_to(KEPT, TARGET, {RPS: "3"}), world.context(), b"another plan")
    assert again.run.steps[0].outcome == "already"
    (back,) = world.rollback(world.context(), run=run.id)
    assert (back.run.steps[0].outcome, world.host.now) == ("applied", KEPT)


def test_what_goes_with_the_next_boot_is_told_where_not_all_does(world: SettingsWorld) -> None:
    before = replace(KEPT, ovs=Ovs(other_config={}), own_files={SYSCTLS: {}})
    values = {ENTRIES: "32768", "ovs::pmd-cpu-mask": "0x2", MODULE: "loaded"}
    world.host.now = before = replace(before, modules={"vhost_net": "not loaded"})
    (unit,) = world.apply(steps_to(before, TARGET, values), world.context()).run.steps
    assert unit.message == f"until the next boot for {MODULE}; the others stay"


def test_a_setting_without_a_name_goes_with_the_next_boot(world: SettingsWorld) -> None:
    world.host.now = FACTS
    step = steps_to(FACTS, TARGET, {"queue-length:eth0": "2000"})
    (unit,) = world.apply(step, world.context()).run.steps
    assert unit.message == "until the next boot"


def test_the_undo_of_one_step_without_the_other_is_said(world: SettingsWorld) -> None:
    at_once, kept = steps_to(KEPT, TARGET, {RPS: "3"})
    ids = []
    for number, step in enumerate((at_once, kept)):
        run = world.apply((step,), world.context(), f"plan {number}".encode()).run
        ids.append(run.id)
    (back,) = world.rollback(world.context(), run=ids[0])
    told = f"a file still sets it at each boot: {RULES}/{RPS_FILE}"
    assert (back.run.steps[0].outcome, back.run.steps[0].message) == ("applied", told)
    (back,) = world.rollback(world.context(), run=ids[1])
    told = "what its files kept stays set until the next boot"
    assert (back.run.steps[0].outcome, back.run.steps[0].message) == ("applied", told)
    assert world.host.now == KEPT


def test_a_file_is_written_after_what_it_keeps(world: SettingsWorld) -> None:
    world.host.refuses = {RPS: 9}
    (unit,) = world.apply(steps_to(KEPT, TARGET, {RPS: "3"}), world.context()).run.steps
    assert (unit.outcome, world.host.now) == ("failed", KEPT)
    assert not any("before file:" in place for place in world.passed)


def test_a_module_is_loaded_now_and_at_boot(world: SettingsWorld) -> None:
    world.host.now = before = replace(KEPT, modules={"vhost_net": "not loaded"})
    run = world.apply(steps_to(before, TARGET, {MODULE: "loaded"}), world.context()).run
    (unit,) = run.steps
    assert (unit.outcome, unit.message) == ("applied", "now, and from the next boot on")
    text = world.host.files[MODULES]["90-vnicaudit-vhost_net.conf"]
    assert (world.host.now.modules, text.split("\n")[1:]) == (
        {"vhost_net": "loaded"},
        ["vhost_net"],
    )
    (back,) = world.rollback(world.context())
    assert (back.run.steps[0].outcome, world.host.now) == ("applied", before)


def test_a_module_in_use_stays_and_so_does_its_file(world: SettingsWorld) -> None:
    world.host.now = replace(KEPT, modules={"vhost_net": "not loaded"})
    world.apply(steps_to(world.host.now, TARGET, {MODULE: "loaded"}), world.context())
    world.host.refuses, after = {MODULE: 9}, world.host.now
    (back,) = world.rollback(world.context())
    (unit,) = back.run.steps
    assert (unit.outcome, world.host.now) == ("failed", after)
    assert f"{MODULE}: not loaded was not accepted" in unit.message


def test_a_module_that_others_load_meanwhile_is_not_unloaded(world: SettingsWorld) -> None:
    world.host.now = replace(KEPT, modules={"vhost_net": "not loaded"})
    world.at_place[f"behind {ENTRIES}"] = lambda: world.host.put(MODULE, "loaded")
    world.apply(steps_to(world.host.now, TARGET, {ENTRIES: "32768"}), world.context())
    world.rollback(world.context())
    assert world.host.now.modules == {"vhost_net": "loaded"}


def test_a_plan_unloads_no_module(world: SettingsWorld) -> None:
    world.host.now = replace(KEPT, modules={"vhost_net": "loaded"})
    step = steps_to(world.host.now, TARGET, {MODULE: "not loaded"})[:1]
    (unit,) = world.apply(step, world.context()).run.steps
    assert (unit.outcome, unit.codes) == ("refused", ("plan",))


def test_one_of_the_two_steps_alone(world: SettingsWorld) -> None:
    at_once, kept = steps_to(KEPT, TARGET, {ENTRIES: "32768"})
    (unit,) = world.apply((kept,), world.context()).run.steps
    assert (unit.outcome, unit.message) == ("applied", "from the next boot on")
    assert world.host.now.sysctls == KEPT.sysctls
    (unit,) = world.apply((at_once,), world.context(), b"another plan").run.steps
    assert (unit.outcome, unit.message) == ("applied", "until the next boot")


def test_a_file_that_is_there_is_not_overwritten(world: SettingsWorld) -> None:
    world.host.now = there = replace(KEPT, own_files=KEPT.own_files | {RULES: {RPS_FILE: "x"}})  # type: ignore[operator]
    (unit,) = world.apply(steps_to(KEPT, TARGET, {RPS: "3"}), world.context()).run.steps
    assert (unit.outcome, unit.codes, world.host.now) == ("refused", ("drift",), there)
    assert f"({RULES}/{RPS_FILE} is there)" in unit.message


def test_a_file_that_was_edited_since_is_left(world: SettingsWorld) -> None:
    world.apply(steps_to(KEPT, TARGET, {RPS: "3"}), world.context())
    world.host.put(f"file:eth0:{RULES}/{RPS_FILE}", "# mine")
    (back,) = world.rollback(world.context())
    assert f"({RULES}/{RPS_FILE} is edited)" in back.run.steps[0].message
    (unit,) = back.run.steps
    assert (unit.outcome, unit.codes) == ("refused", ("edited",))
    world.rollback(world.context(), RollbackSelection(over_edits=True))
    assert world.host.now == KEPT


def test_the_file_of_a_device_that_is_gone_is_removed(world: SettingsWorld) -> None:
    world.apply(steps_to(KEPT, TARGET, {RPS: "3"}), world.context())
    world.host.now = replace(world.host.now, links=())
    (back,) = world.rollback(world.context())
    assert (back.run.steps[0].outcome, world.host.files) == ("applied", KEPT.own_files)


def _life(world: SettingsWorld, kill_at: int | None, *, back: bool = False) -> bool:
    """Whether it came to its end."""
    world.passed.clear()
    world.kill_at = kill_at
    with suppress(Killed):
        if back:
            world.rollback(world.context())
        else:
            world.apply(steps_to(KEPT, TARGET, {RPS: "3"}), world.context())
        return True
    return False


@pytest.mark.parametrize("resume", ["apply", "rollback"])
def test_killed_anywhere(resume: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in count():
        folder = tmp_path / str(place)
        world = settings_world(folder, monkeypatch)
        world.host.now = KEPT
        over = _life(world, place)
        if resume == "apply":
            assert _life(world, None)
            assert RPS_FILE in world.host.files[RULES], place
        if runs(str(folder)):
            assert _life(world, None, back=True)
        assert world.host.now == KEPT, place
        if over:
            break
    assert place > 4


def _edited(step: UnitStep[SettingUnit], path: str, text: str) -> UnitStep[SettingUnit]:
    """The step with another file, of which digest and diff were made to match."""
    values = {f"file:eth0:{path}": text}
    unit = replace(step.unit, values=values, old=dict.fromkeys(values, ""))
    digest, diff = setting_digest(TARGET, unit), setting_diff("eth0", unit.old, values)
    return replace(step, unit=unit, digest=digest, diff=diff)


def test_an_edited_plan_writes_nothing_else(world: SettingsWorld) -> None:
    _at_once, kept = steps_to(KEPT, TARGET, {RPS: "3"})
    (text,) = kept.unit.values.values()
    for path, written in (
        ("/etc/udev/rules.d/80-net.rules", text),
        ("/etc/udev/rules.d/90-vnicaudit-../../passwd", text),
        (f"{RULES}/{RPS_FILE}", text.replace("echo 3 >", "reboot; echo 3 >")),
        (f"{RULES}/{RPS_FILE}", f"{text}\n"),
        (f"{RULES}/{RPS_FILE}", ""),
    ):
        (unit,) = world.apply((_edited(kept, path, written),), world.context()).run.steps
        assert (unit.outcome, unit.codes, world.host.now) == ("refused", ("plan",), KEPT), path


def test_owners_are_read_again(world: SettingsWorld) -> None:
    steps = steps_to(KEPT, TARGET, {RPS: "3"})
    world.host.now = owned = replace(KEPT, owners=(TUNED,))
    (unit,) = world.apply(steps, world.context()).run.steps
    assert (unit.outcome, unit.codes, world.host.now) == ("refused", ("owner",), owned)
    assert "tuned (/etc/tuned/active_profile) sets it on this host" in unit.message
    (step,) = steps_to(owned, TARGET, {RPS: "3"}, over_owner=True)
    assert (step.blocked, step.unit.over) == ((), ("tuned",))
    (unit,) = world.apply((step,), world.context(), b"another plan").run.steps
    assert unit.outcome == "applied"


@contextmanager
def _own_folder(namespace: str) -> Iterator[Path]:
    """The /etc/sysctl.d that programs in that namespace see (ip-netns(8))."""
    folder = Path("/etc/netns", namespace)
    (folder / "sysctl.d").mkdir(parents=True)
    try:
        yield folder / "sysctl.d"
    finally:
        shutil.rmtree(folder)


def test_a_file_of_a_real_host(tmp_path: Path) -> None:
    with veth_namespace() as namespace, _own_folder(namespace) as folder:
        target, stage = f"netns://{namespace}", Stage(tmp_path)
        facts = stage.adapters.host(target, 15).facts()
        assert facts.own_files is not None
        assert facts.own_files[SYSCTLS] == {}
        known = replace(facts, sysctls={ENTRIES.rpartition(":")[2]: "0"})
        _at_once, step = steps_to(known, TARGET, {ENTRIES: "32768"})
        step = replace(step, target=target, digest=setting_digest(target, step.unit))
        run = stage.apply((step,), stage.context()).run
        assert run.steps[0].message == "from the next boot on"
        (file,) = folder.iterdir()
        assert file.name == "99-vnicaudit-net.core.rps_sock_flow_entries.conf"
        assert file.read_text() == (
            f"# Written by vnicaudit; taken back by: vnicaudit rollback {run.id}\n"
            "net.core.rps_sock_flow_entries = 32768\n"
        )
        (back,) = stage.rollback(stage.context())
        assert back.run.steps[0].outcome == "applied"
        assert list(folder.iterdir()) == []


def _run(path: Path, value: str) -> int:
    words = words_to_set(HostSetting("file", name=str(path)), value)
    return subprocess.run(words, check=False, capture_output=True).returncode


def test_a_file_is_made_whole_and_never_in_place_of_another(tmp_path: Path) -> None:
    path = tmp_path / RPS_FILE
    assert _run(path, "one\ntwo $HOME `id`") == 0
    assert path.read_text() == "one\ntwo $HOME `id`\n"
    assert path.stat().st_mode & 0o777 == 0o644
    assert _run(path, "three") != 0
    assert path.read_text().startswith("one\n")
    assert list(tmp_path.iterdir()) == [path]
    assert _run(path, "") == 0
    assert list(tmp_path.iterdir()) == []


def test_what_is_set_already_is_kept_and_stays_when_the_file_goes(world: SettingsWorld) -> None:
    at_once, kept = steps_to(KEPT, TARGET, {RPS: "3"})
    world.apply((at_once,), world.context())
    run = world.apply((at_once, kept), world.context(), b"another plan").run
    assert run.steps[0].outcome == "applied"
    (back,) = world.rollback(world.context(), run=run.id)
    assert back.run.steps[0].outcome == "applied"
    assert world.host.files == KEPT.own_files
    assert world.host.now != KEPT
