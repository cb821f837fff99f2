"""Settings beside those of links: of Open vSwitch, in a real one without a datapath, and of the
kernel, in trees of files that stand for /proc and /sys (made by hand)."""

import json
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.not_run import not_run
from tests.remedy.applying.fakes import Stage
from tests.remedy.applying.settings_host import step_to
from tests.rig.errors import Missing
from tests.rig.open_vswitch import OpenVSwitch, running_on_dummies
from vnicaudit.knowledge.host_settings import HostSetting, words_to_set
from vnicaudit.knowledge.qeth import SET_WHILE_OFFLINE
from vnicaudit.model.host_facts import HostFacts
from vnicaudit.platforms.host.visiting import settings
from vnicaudit.reaching.opening import OpenPlace, open_place
from vnicaudit.reaching.process import TransportOutput
from vnicaudit.remedy.applying.history import runs
from vnicaudit.remedy.planning.host_settings import setting_diff, setting_digest

TARGET = "ssh://kvm1"
SYSCTL = "sysctl::net.core.netdev_max_backlog"
GOVERNOR = "governor::cpu1"
PAGES = "pages::node0/hugepages/hugepages-2048kB"
MIGRATION = "scheduler::migration_cost_ns"
_LINK = "osa0"
_BOUND = {
    "core": "/proc/sys/net/core",
    "irq": "/proc/irq",
    "interrupts": "/proc/interrupts",
    "debug": "/sys/kernel/debug",
    "bus": "/sys/bus",
    "net": "/sys/class/net",
    "cpu": "/sys/devices/system/cpu",
    "node0": "/sys/devices/system/node/node0",
    "run": "/run",
}
_FILES = {
    "core/netdev_max_backlog": "1000\n",
    "core/rps_sock_flow_entries": "0\n",
    "core/netdev_budget": "300\n",
    "core/netdev_budget_usecs": "8000\n",
    "debug/sched/migration_cost_ns": "500000\n",
    f"net/{_LINK}/device/vnicc/flooding": "0\n",
    f"net/{_LINK}/device/vnicc/learning": "0\n",
    "irq/41/smp_affinity_list": "0-1\n",
    "irq/42/smp_affinity_list": "0\n",
    "interrupts": f"  CPU0 CPU1\n 41: 5 6 MSI {_LINK}-TxRx-0\n 42: 5 6 MSI {_LINK}-TxRx-1\n",
    "bus/ccwgroup/drivers/qeth/0.0.f500/if_name": f"{_LINK}\n",
    "cpu/online": "0-1\n",
    "cpu/cpu0/cpufreq/scaling_governor": "schedutil\n",
    "cpu/cpu1/cpufreq/scaling_governor": "powersave\n",
    "node0/hugepages/hugepages-2048kB/nr_hugepages": "0\n",
    "node0/hugepages/hugepages-2048kB/free_hugepages": "0\n",
}


@pytest.fixture(scope="module")
def switch() -> Iterator[OpenVSwitch]:
    try:
        with running_on_dummies() as switch:
            switch.set(
                "set", "Open_vSwitch", ".", "other_config:pmd-maxsleep=1000",
                "other_config:kept=as it is",
                "--", "add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=dummy",
                "--", "add-port", "br0", "p0", "--", "set", "Interface", "p0", "type=dummy-pmd",
                "options:n_rxq=2", "options:numa_id=0",
            )  # fmt: skip
            yield switch
    except Missing as error:
        not_run("tests", str(error))


class _Bound:
    """This machine with some folders in place of those of the kernel, and without its links."""

    def __init__(self, inner: OpenPlace, folder: Path) -> None:
        binds = (f"mount --bind {folder}/{name} {path}" for name, path in _BOUND.items())
        link = f"ip link add {_LINK} address 52:54:00:00:00:09 type veth peer name osa1"
        before = " && ".join((link, *binds, 'exec "$@"'))
        self._before = ("unshare", "-mn", "sh", "-c", before, "sh")
        self._inner = inner

    def run(self, argv: Sequence[str], seconds: float) -> TransportOutput:
        ran = self._inner.run((*self._before, *argv), seconds=seconds)
        return TransportOutput(ran.code or 0, ran.stdout.encode(), ran.stderr.encode())

    def close(self) -> None:
        self._inner.close()


class _Host:
    """A stage with that host, and what other programs than those of the product see of it."""

    def __init__(self, folder: Path, switch: OpenVSwitch, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tree, self.switch = folder / "tree", switch
        (self.tree / "run").mkdir(parents=True)
        for name, text in _FILES.items():
            path = self.tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        vnicc = f"/sys/class/net/{_LINK}/device/vnicc"
        (self.tree / "bus/ccwgroup/drivers/qeth/0.0.f500/vnicc").symlink_to(vnicc)
        if subprocess.run(["unshare", "-mn", "true"], check=False).returncode:
            not_run("tests", "mounts of one process need root")
        for name, value in switch.env.items():
            monkeypatch.setenv(name, value)
        local = open_place("local")
        opened = OpenPlace(TARGET, _Bound(local, self.tree))
        monkeypatch.setattr(settings, "open_place", lambda _url: opened)
        monkeypatch.setattr(settings.SettingsPlace, "is_of_container", lambda *_given: False)
        self.stage = Stage(folder / "state")
        self.place = self.stage.adapters.host(TARGET, 30)

    def facts(self) -> HostFacts:
        return self.place.facts()

    def seen(self) -> str:
        """All of it, to the byte."""
        columns = ("--columns=name,options,mtu_request,mtu", "list", "Interface")
        config = self._switch_says("get", "Open_vSwitch", ".", "other_config")
        files = {name: (self.tree / name).read_text().strip() for name in _FILES}
        return "\n".join((config, self._switch_says(*columns), json.dumps(files, indent=1)))

    def _switch_says(self, *words: str) -> str:
        ran = subprocess.run(
            ["ovs-vsctl", *words], env=self.switch.env, check=True, capture_output=True, text=True
        )
        return ran.stdout

    def apply(self, values: dict[str, str], plan: str = "plan") -> tuple[str, str]:
        step = step_to(self.facts(), TARGET, values)
        (unit,) = self.stage.apply((step,), self.stage.context(), plan.encode()).run.steps
        return unit.outcome, unit.message

    def undo(self) -> str:
        (back,) = self.stage.rollback(self.stage.context(), run=runs(str(self.stage.folder))[0].id)
        return f"{back.run.steps[0].outcome} {back.run.steps[0].message}"


@pytest.fixture
def host(tmp_path: Path, switch: OpenVSwitch, monkeypatch: pytest.MonkeyPatch) -> _Host:
    return _Host(tmp_path, switch, monkeypatch)


@pytest.mark.parametrize(
    ("field", "value", "told", "sign"),
    [
        ("ovs::pmd-cpu-mask", "0x6", "", 'pmd-cpu-mask="0x6"'),
        ("ovs::pmd-maxsleep", "500", "", 'pmd-maxsleep="500"'),
        ("ovs::pmd-auto-lb", "true", "", 'pmd-auto-lb="true"'),
        ("ovs-interface:p0:options:n_rxq", "3", "", 'n_rxq="3"'),
        ("ovs-interface:br0:mtu_request", "1400", "", "mtu_request         : 1400"),
        (SYSCTL, "2000", "until the next boot", '"core/netdev_max_backlog": "2000"'),
        (GOVERNOR, "performance", "until the next boot", 'cpu1/cpufreq/scaling_governor": "perf'),
        ("sysctl::net.core.netdev_budget", "600", "until the next boot", 'budget": "600"'),
        ("sysctl::net.core.netdev_budget_usecs", "16000", "until the next boot", '"16000"'),
        (MIGRATION, "60000", "until the next boot", 'migration_cost_ns": "60000"'),
        ("irq:osa0:41", "1", "until the next boot", '41/smp_affinity_list": "1"'),
        ("vnicc:osa0:flooding", "1", "until the next boot", 'flooding": "1"'),
        (PAGES, "512", "until the next boot", 'nr_hugepages": "512"'),
    ],
)
def test_applied_seen_by_others_and_undone_to_the_byte(
    host: _Host, field: str, value: str, told: str, sign: str
) -> None:
    before = host.seen()
    assert sign not in before
    assert host.apply({field: value}) == ("applied", told)
    assert sign in host.seen()
    assert host.undo().startswith("applied")
    assert host.seen() == before


def test_several_settings_of_the_host_are_one_unit(host: _Host) -> None:
    before = host.seen()
    values = {"ovs::pmd-cpu-mask": "0x2", SYSCTL: "3000", GOVERNOR: "performance"}
    told = f"until the next boot for {SYSCTL}, {GOVERNOR}; the others stay"
    assert host.apply(values) == ("applied", told)
    host.undo()
    assert host.seen() == before


def test_random_settings_of_all_kinds_come_back_to_the_byte(
    host: _Host, pytestconfig: pytest.Config
) -> None:
    """With ``--long`` 200 changes, else a dozen."""
    before = host.seen()
    for seed in range(200 if pytestconfig.getoption("--long") else 12):
        values = _drawn(random.Random(seed))
        outcome, message = host.apply(values, f"plan {seed}")
        assert outcome == "applied", (seed, values, message)
        assert host.seen() != before, (seed, values)
        assert host.undo().startswith("applied"), (seed, values)
        assert host.seen() == before, (seed, values)


def _drawn(numbers: random.Random) -> dict[str, str]:
    """Some settings of the host or of one port, and values for them."""
    device = numbers.choice(("", "", "p0", "br0", _LINK))
    choices: dict[str, Callable[[], str]] = {
        "ovs::pmd-cpu-mask": lambda: f"0x{numbers.randrange(1, 64):x}",
        "ovs::pmd-maxsleep": lambda: str(numbers.randrange(100, 999)),
        "ovs::pmd-sleep-max": lambda: str(numbers.randrange(1, 9999)),
        "ovs::pmd-auto-lb": lambda: numbers.choice(("true", "false")),
        SYSCTL: lambda: str(numbers.randrange(1001, 99999)),
        "sysctl::net.core.rps_sock_flow_entries": lambda: str(numbers.randrange(1, 65536)),
        "sysctl::net.core.netdev_budget": lambda: str(numbers.randrange(301, 1201)),
        "sysctl::net.core.netdev_budget_usecs": lambda: str(numbers.randrange(8001, 40001)),
        MIGRATION: lambda: str(numbers.randrange(1, 499999)),
        "irq:osa0:41": lambda: numbers.choice("01"),
        "irq:osa0:42": lambda: numbers.choice(("1", "0-1")),
        "vnicc:osa0:flooding": lambda: "1",
        "vnicc:osa0:learning": lambda: "1",
        GOVERNOR: lambda: numbers.choice(("performance", "ondemand")),
        "governor::cpu0": lambda: "performance",
        PAGES: lambda: str(numbers.randrange(1, 4096)),
        "ovs-interface:p0:options:n_rxq": lambda: str(numbers.randrange(3, 9)),
        "ovs-interface:br0:mtu_request": lambda: str(numbers.randrange(1280, 1499)),
    }
    own = [field for field in choices if field.split(":")[1] == device]
    drawn = numbers.sample(own, numbers.randrange(1, min(4, len(own)) + 1))
    return {field: choices[field]() for field in drawn}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("ovs::pmd-cpu-mask", "0x0"), ("ovs::pmd-cpu-mask", "6"),
        ("ovs-interface:br0:mtu_request", "576"), ("governor::cpu1", "x y"),
        ("sysctl::net.core.netdev_max_backlog", "0"), ("sysctl::net.core.netdev_budget", "63"),
        (MIGRATION, "0"), ("irq:osa0:41", "x"), ("vnicc:osa0:flooding", "0"),
    ],
)  # fmt: skip
def test_a_value_that_a_plan_may_not_set_is_refused(host: _Host, field: str, value: str) -> None:
    before = host.seen()
    outcome, message = host.apply({field: value})
    assert (outcome, host.seen()) == ("refused", before)
    assert f"{field}={value} is no setting that is changed here" in message


@pytest.mark.parametrize(
    "field", ["ovs::dpdk-init", "ovs-interface:p0:type", "pages::../../x", "sysctl::kernel.panic"]
)
def test_a_setting_that_a_plan_may_not_set_is_refused(host: _Host, field: str) -> None:
    """Keys that need a restart of Open vSwitch, too."""
    before, step = host.seen(), step_to(host.facts(), TARGET, {GOVERNOR: "performance"})
    unit = replace(step.unit, values={field: "1"}, old={field: ""})
    digest, diff = setting_digest(TARGET, unit), setting_diff("", unit.old, unit.values)
    step = replace(step, unit=unit, digest=digest, diff=diff)
    (done,) = host.stage.apply((step,), host.stage.context()).run.steps
    assert (done.outcome, host.seen()) == ("refused", before)
    assert f"{field}=1 is no setting that is changed here" in done.message


def test_queues_are_not_taken_from_guests(host: _Host) -> None:
    port = ("add-port", "br0", "vhu0", "--", "set", "Interface", "vhu0")
    host.switch.set("--no-wait", *port, "type=dpdkvhostuserclient")
    before = host.seen()
    try:
        outcome, message = host.apply({"ovs-interface:p0:options:n_rxq": "1"})
        assert (outcome, host.seen()) == ("refused", before)
        assert "takes queues away, which running guests may use" in message
    finally:
        host.switch.set("--no-wait", "del-port", "vhu0")
    assert host.apply({"ovs-interface:p0:options:n_rxq": "1"}, "without them") == ("applied", "")
    assert host.undo().startswith("applied")


_IN_NAMESPACE = """
ip link add br0 type bridge && ip link set br0 up
ip link add v0 type veth peer name v1 && ip link set v1 up
ip link set v0 address 52:54:00:00:00:07 mtu 1450 txqueuelen 700 promisc on master br0 up
ip addr add 192.0.2.7/24 dev v0 && ip -6 addr add 2001:db8::7/64 dev v0 nodad
ip route add 198.51.100.0/24 via 192.0.2.1 dev v0 metric 7
ip -6 route add 2001:db8:1::/48 via 2001:db8::1 dev v0
is_ready() {
    ip -6 addr show dev v0 | grep -q fe80 && ! ip -6 addr show dev v0 | grep -q tentative
}
waits=0; until is_ready || [ "$((waits += 1))" -gt 300 ]; do sleep 0.1; done
seen() {
    cat /sys/class/net/v0/flags; ip link show dev v0 | sed 's/state [A-Z]*//'
    ip -br addr show dev v0
    ip route show table all dev v0; ip -6 route show table all dev v0 | sort
}
seen >"$2"; sh -c "$1" sh v0 buffer_count "$4" || exit; seen >"$3"
"""


@pytest.mark.parametrize("asked", ["128", "64"])
def test_an_adapter_that_was_offline_is_as_before(tmp_path: Path, asked: str) -> None:
    """No adapter of IBM Z is here: its attributes are files, and a veth loses what one loses."""
    (tmp_path / "online").write_text("1")
    (tmp_path / "buffer_count").write_text("64")
    lost = "ip link set dev $link nomaster mtu 1500 promisc off txqueuelen 1000 down"
    lost += " && ip addr flush dev $link"
    script = SET_WHILE_OFFLINE.replace('readlink -f "$net/device"', f"echo {tmp_path}").replace(
        "printf 0 >online", f"printf 0 >online && {lost}"
    )
    before, after = tmp_path / "before", tmp_path / "after"
    words = ["unshare", "-mn", "sh", "-c", f"mount -t sysfs s /sys && {_IN_NAMESPACE}", "sh"]
    ran = subprocess.run(
        [*words, script, before, after, asked], check=False, capture_output=True, text=True
    )
    if "not permitted" in ran.stderr:
        not_run("tests", "mounts of one process need root")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert after.read_text() == before.read_text()
    assert [(tmp_path / name).read_text() for name in ("online", "buffer_count")] == ["1", asked]


@pytest.mark.parametrize("before", [[], ["openvswitch_vswitchd"]])  # there is none of that name
def test_the_programs_in_a_container_of_kolla_are_found(tmp_path: Path, before: list[str]) -> None:
    """Made by hand: a docker that says what it was asked."""
    docker, asked = tmp_path / "docker", tmp_path / "asked"
    container = "ovsdpdk_vswitchd" if before else "openvswitch_vswitchd"
    docker.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$*" >>{asked}\n[ "$1" = exec ] || [ $2 = {container} ]\n'
    )
    docker.chmod(0o755)
    for name in ("sh", "timeout", "grep"):
        (tmp_path / name).symlink_to(shutil.which(name) or "")
    words = words_to_set(HostSetting("ovs", name="pmd-auto-lb"), "true")
    script = words[2].replace("runs()", "runs() { true; }\nwas()")
    subprocess.run([*words[:2], script, *words[3:]], check=True, env={"PATH": str(tmp_path)})
    assert asked.read_text().splitlines() == [
        *(f"inspect {name}" for name in (*before, container)),
        f"exec {container} ovs-vsctl -t 10 set Open_vSwitch . other_config:pmd-auto-lb=true",
    ]
