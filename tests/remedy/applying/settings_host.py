"""A host whose settings are changed: one that answers at once, and a real network namespace."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace
from testinfra.host import get_host

from tests.not_run import not_run
from tests.remedy.applying.fakes import Killed, Stage, watch
from vnicaudit.errors import ActionError, NoResponseError
from vnicaudit.knowledge.cpu_lists import from_mask
from vnicaudit.knowledge.host_setting_values import made_of, value_of
from vnicaudit.knowledge.host_settings import HostSetting, SettingValues, field_of, setting_of
from vnicaudit.model.finding import Change, Finding, Location, Ref
from vnicaudit.model.host_facts import CpuFacts, Feature, HostFacts, HostLink, Ovs, Queue
from vnicaudit.model.plan import SettingUnit, UnitStep
from vnicaudit.model.runs import TimerState
from vnicaudit.remedy.planning.host_settings import steps_of

TARGET = "ssh://kvm1"
TX, TSO = "feature:eth0:tx-checksumming", "feature:eth0:tcp-segmentation-offload"
RPS, FLOWS = "rps:eth0:rx-0", "rps-flows:eth0:rx-0"
ENTRIES = "sysctl::net.core.rps_sock_flow_entries"
_LINK = HostLink(
    name="eth0",
    mac="52:54:00:00:00:01",
    queue_length=1000,
    features={
        "tx-checksumming": Feature(on=True),
        "tcp-segmentation-offload": Feature(on=True),
        "generic-receive-offload": Feature(on=False),
        "highdma": Feature(on=True, fixed=True),
    },
    queues=(Queue(name="rx-0", cpus=(), flows=0), Queue(name="tx-0", cpus=(0, 1, 2, 3))),
)
MACHINE = "11" * 12
FACTS = HostFacts(
    machine=MACHINE,
    managed_by=(),
    links=(_LINK,),
    cpus=CpuFacts(online=(0, 1, 2, 3)),
    sysctls={"net.core.rps_sock_flow_entries": "0"},
)


@dataclass
class FakeTimer:
    """One timer on the host; ``due`` by the clock of the host."""

    script: str
    due: float
    state: str = "armed"


def value_in(facts: HostFacts, field: str) -> str | None:
    """The value of a field."""
    setting = setting_of(field)
    assert setting is not None, field
    return value_of(facts, setting)


class SettingsHost:
    """It does what it is asked as Linux does: TSO goes with checksums, and is still asked for.
    ``ignores``: a field that it accepts and does not apply; ``refuses``: one that it does not
    accept, and so often; ``cut_by``: a field with which the way to it is cut, until it is as it was
    at first; ``loses``: answers that do not arrive; ``goes_on``: it sets the rest of a command's
    settings though the program was killed."""

    def __init__(self, world: SettingsWorld) -> None:
        self.at_first = self.now = FACTS
        self.boots = 0
        self.cut_by = ""
        self.goes_on = False
        self.loses: set[str] = set()
        self.timers: dict[str, FakeTimer] = {}
        self.ignores = ""
        self.refuses: dict[str, int] = {}
        self.world = world

    def identity(self) -> str:
        self._answers("identity")
        return f"boot {self.boots} of one host"

    def restart(self) -> None:
        """What was set is gone, and so are its timers; Open vSwitch keeps its keys."""
        self.now = replace(self.at_first, ovs=self.now.ovs)
        self.timers, self.boots = {}, self.boots + 1
        self.cut_by = ""

    def facts(self) -> HostFacts:
        self._answers("facts")
        return self.now

    def is_of_container(self, facts: HostFacts) -> bool:
        return bool(facts.container)

    def undo_script(self, timer: str, changed: SettingValues, everything: SettingValues) -> str:
        del timer
        values = (*changed, *everything)
        return "".join(f"{field_of(setting)}={value}\n" for setting, value in values)

    def arm(self, timer: str, script: str, digest: str, seconds: int) -> None:
        self.world.passing("before arming")
        self._answers()
        assert digest == sha256(script.encode()).hexdigest()
        if "timers" in self.refuses:
            raise ActionError("no timer could be started on the host: there is no setsid")
        if any(other.state == "armed" for other in self.timers.values()):
            raise ActionError("no timer could be started on the host: another run has armed one")
        self.timers[timer] = FakeTimer(script, self.world.clock.seconds + seconds)
        self.world.passing("behind arming")
        self._answers("arm")

    def disarm(self, timer: str) -> TimerState:
        self.world.passing("before disarming")
        self._answers()
        self._pass_time()
        known = self.timers.get(timer)
        if known is not None and known.state == "armed":
            known.state = "disarmed"
        self.world.passing("behind disarming")
        self._answers("disarm")
        return "" if known is None else cast(TimerState, known.state)

    def reconnect(self) -> None:
        """Nothing is open."""

    def how_to_confirm(self, timer: str) -> str:
        del timer
        return ""

    def is_confirmed(self, timer: str) -> bool:
        del timer
        return True

    def _pass_time(self) -> None:
        """Timers do what is due by now."""
        for timer in self.timers.values():
            if timer.state == "armed" and self.world.clock.seconds >= timer.due:
                timer.state = "undone"
                self.cut_by = ""
                for line in timer.script.splitlines():
                    field, _equals, value = line.partition("=")
                    self.put(field, value)

    def _answers(self, lost: str = "") -> None:
        """Raises NoResponseError while the way is cut, and once for each answer to be lost."""
        self._pass_time()
        if self.cut_by and value_in(self.now, self.cut_by) != value_in(self.at_first, self.cut_by):
            self.world.clock.sleep(5)
            raise NoResponseError("no answer within 5 s")
        if lost in self.loses:
            self.loses.remove(lost)
            raise NoResponseError(f"the answer to {lost} was lost")

    def set(
        self, values: SettingValues, timer: str = ""
    ) -> tuple[HostFacts, dict[HostSetting, str]]:
        """The host goes through all of them, also where the way is cut by the first."""
        self._answers()
        try:
            refused = [self._set(*each, timer) for each in values]
        except Killed:
            if self.goes_on:
                for setting, value in values:
                    self._do(setting, made_of(setting, value, self.now))
            raise
        self._answers("set")
        if None in refused:
            raise NoResponseError("the timer ended")
        said = zip(values, refused, strict=True)
        return self.now, {setting: why for (setting, _value), why in said if why}

    def _set(self, setting: HostSetting, value: str, timer: str) -> str | None:
        """Why it is not accepted; None: the timer has ended."""
        field, why = f"{setting.kind}:{setting.device}:{setting.name}", ""
        self.world.passing(f"before {field}")
        self._pass_time()
        if timer and self.timers[timer].state != "armed":
            return None
        if self.refuses.get(field):
            self.refuses[field] -= 1
            why = f"{value} was not accepted: Operation not supported"
        elif field != self.ignores:
            self._do(setting, made_of(setting, value, self.now))
        self.world.passing(f"behind {field}")
        return why

    def close(self) -> None:
        """Nothing is open."""

    @property
    def files(self) -> dict[str, dict[str, str]]:
        return self.now.own_files or {}

    def put(self, field: str, value: str) -> None:
        """Somebody else sets it."""
        setting = setting_of(field)
        assert setting is not None, field
        self._do(setting, value)

    def _do(self, setting: HostSetting, value: str) -> None:
        if setting.kind == "sysctl":
            self.now = replace(self.now, sysctls={setting.name: value})
            return
        if setting.kind == "module":
            self.now = replace(self.now, modules={setting.name: value})
            return
        if setting.kind == "file":
            folder, _slash, name = setting.name.rpartition("/")
            files = {key: text for key, text in self.files[folder].items() if key != name}
            files |= {name: value} if value else {}
            self.now = replace(self.now, own_files=self.files | {folder: files})
            return
        if setting.kind == "ovs":
            config = {**(self.now.ovs.other_config or {}), setting.name: value}
            self.now = replace(
                self.now, ovs=Ovs(other_config={k: v for k, v in config.items() if v})
            )
            return
        (link,) = self.now.links or ()
        if setting.kind == "qeth":  # with a device that forgets everything else
            off = {
                name: replace(each, on=each.fixed) for name, each in (link.features or {}).items()
            }
            queues = tuple(replace(each, cpus=()) for each in link.queues or ())
            qeth = link.qeth and replace(link.qeth, buffers=int(value))
            link = replace(link, qeth=qeth, features=off, queues=queues, queue_length=1)
        elif setting.kind == "queue-length":
            link = replace(link, queue_length=int(value))
        elif setting.kind == "feature":
            link = replace(link, features=self._features(link, setting.name, value))
        else:
            link = replace(
                link, queues=tuple(_queue(each, setting, value) for each in link.queues or ())
            )
        self.now = replace(self.now, links=(link,))

    @staticmethod
    def _features(link: HostLink, name: str, value: str) -> dict[str, Feature]:
        features = dict(link.features or {})
        asked = {
            key: each.on if each.requested is None else each.requested
            for key, each in features.items()
        }
        asked[name] = value.removesuffix("]").endswith("on")
        for key, on in asked.items():
            is_on = on and (key != "tcp-segmentation-offload" or asked["tx-checksumming"])
            features[key] = replace(features[key], on=is_on, requested=None if is_on == on else on)
        return features


def _queue(queue: Queue, setting: HostSetting, value: str) -> Queue:
    if queue.name != setting.name:
        return queue
    if setting.kind == "rps-flows":
        return replace(queue, flows=int(value))
    return replace(queue, cpus=from_mask(value))


class SettingsWorld(Stage):
    """That host, and the program that works on it. ``at_place``: what happens at the first passing
    of a place."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.at_place: dict[str, Callable[[], None]] = {}
        self.host = SettingsHost(self)
        self.adapters = self.adapters._replace(host=lambda _url, _seconds: self.host)

    def passing(self, place: str) -> None:
        super().passing(place)
        self.at_place.pop(place, lambda: None)()


def step_to(facts: HostFacts, target: str, values: dict[str, str]) -> UnitStep[SettingUnit]:
    """The step that sets what findings with these changes propose."""
    return steps_to(facts, target, values)[0]


def steps_to(
    facts: HostFacts, target: str, values: dict[str, str], *, over_owner: bool = False
) -> tuple[UnitStep[SettingUnit], ...]:
    """That step, and the one that keeps what it sets."""
    findings = []
    for field, value in values.items():
        setting = setting_of(field)
        assert setting is not None, field
        change = Change(field, value_of(facts, setting), value, safe=True, reason="it is small")
        findings.append(
            Finding(
                "VNIC051", "uplink-offload-off", "medium", "high", "it is off", Ref("link", "eth0"),
                Location(target), "host", change, f"print of {field}",
            )
        )  # fmt: skip
    steps = steps_of(findings, facts, target, "kvm1", over_owner=over_owner)
    return tuple(replace(step, id=str(number)) for number, step in enumerate(steps, 1))


def settings_world(folder: Path, monkeypatch: pytest.MonkeyPatch) -> SettingsWorld:
    """A fresh one; each line, file and setting is a place to be ended at."""
    monkeypatch.undo()
    world = SettingsWorld(folder)
    watch(world, monkeypatch)
    return world


@contextmanager
def veth_namespace() -> Iterator[str]:
    """A network namespace with the veth pair ``v0`` and ``v1``, of two queues each."""
    if os.geteuid() or shutil.which("ip") is None:
        not_run("tests", "network namespaces need root and iproute2")
    name = f"vns{os.getpid()}"
    queues = "numtxqueues 2 numrxqueues 2"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        words = f"ip -n {name} link add v0 {queues} type veth peer name v1 {queues}"
        subprocess.run(words.split(), check=True)
        yield name
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)


def seen(namespace: str) -> str:
    """Everything about the links of a namespace, as the kernel's own tools show it to testinfra."""
    script = "ip -d link show; grep -rs '' /sys/class/net/v*/queues/ | sort; ethtool -k v0; true"
    return get_host("local://").check_output("ip netns exec %s sh -c %s", namespace, script)
