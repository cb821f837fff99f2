"""Settings beside those of links: of Open vSwitch, in a real one without a datapath, and of an
adapter and the kernel, on a host that has them in files (made by hand), seen by testinfra."""

import random
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

import pytest
from msgspec.structs import replace

from tests.conftest import DRAWN
from tests.drawing import drawn_seed
from tests.not_run import not_run
from tests.remedy.applying.bound_host import LINK, TARGET, BoundHost, bound_host
from tests.remedy.applying.settings_host import step_to
from tests.rig.errors import Missing
from tests.rig.open_vswitch import OpenVSwitch, running_on_dummies
from tests.rows import rows
from vnicaudit.knowledge.host_settings import HostSetting, SettingKind, words_to_set
from vnicaudit.knowledge.qeth import SET_WHILE_OFFLINE
from vnicaudit.remedy.planning.host_settings import setting_diff, setting_digest

SYSCTL = "sysctl::net.core.netdev_max_backlog"
GOVERNOR = "governor::cpu1"
PAGES = "pages::node0/hugepages/hugepages-2048kB"
MIGRATION = "scheduler::migration_cost_ns"
TSO = f"feature:{LINK}:tcp-segmentation-offload"


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


@pytest.fixture
def host(
    tmp_path: Path, switch: OpenVSwitch, monkeypatch: pytest.MonkeyPatch
) -> Iterator[BoundHost]:
    with bound_host(tmp_path, switch, monkeypatch) as host:
        yield host


@rows
def test_applied_seen_by_others_and_undone_to_the_byte(
    host: BoundHost, field: str, value: str, told: str, sign: str
) -> None:
    before = host.seen()
    assert sign not in before
    unit = host.apply({field: value})
    assert (unit.outcome, unit.message) == ("applied", told)
    assert sign in host.seen()
    assert host.undo().startswith("applied")
    assert host.seen() == before


def test_interrupts_that_a_driver_moves_with_its_channels_come_back(host: BoundHost) -> None:
    """Also those that somebody had moved before."""
    before = host.seen()
    unit = host.apply({"channels:osa0:rx": "2", "irq:osa0:42": "0-1"})
    told = [check.detail for check in unit.checks]
    assert "irq:osa0:41 changed along: 1" in told
    assert "irq:osa0:42 is 0-1" in told
    assert "rps:osa0:rx-3 changed along: it is gone" in told
    assert '41/smp_affinity_list": "1"' in host.seen()
    assert host.undo().startswith("applied")
    assert host.seen() == before


def test_several_settings_of_the_host_are_one_unit(host: BoundHost) -> None:
    before = host.seen()
    values = {"ovs::pmd-cpu-mask": "0x2", SYSCTL: "3000", GOVERNOR: "performance"}
    told = f"until the next boot for {SYSCTL}, {GOVERNOR}; the others stay"
    assert host.apply(values).message == told
    host.undo()
    assert host.seen() == before


def test_random_settings_of_all_kinds_come_back_to_the_byte(
    host: BoundHost, pytestconfig: pytest.Config, record_property: Callable[[str, object], None]
) -> None:
    """With ``--long`` 200 changes, else a few."""
    first, is_long = drawn_seed(), pytestconfig.getoption("--long")
    before, counts = host.seen(), Counter[str]()
    for seed in range(first, first + (200 if is_long else 8)):
        numbers = random.Random(seed)
        values, keeps = _drawn(numbers), numbers.random() < 0.5
        unit = host.apply(values, f"plan {seed}", keeps=keeps)
        assert unit.outcome == "applied", (seed, values, unit.message)
        seen = host.seen()
        assert seen != before, (seed, values)
        assert host.undo().startswith("applied"), (seed, values)
        assert host.seen() == before, (seed, values)
        counts.update(field.partition(":")[0] for field in values)
        counts.update(["file"] * seen.count("-vnicaudit-"))
    record_property(DRAWN, f"from seed {first}: {dict(counts.most_common())}")
    assert not is_long or counts.keys() == set(get_args(SettingKind))


def _drawn(numbers: random.Random) -> dict[str, str]:
    """Some settings of the host, of a port or of the adapter, and values for them."""
    device = numbers.choice(("", "", "p0", "br0", LINK, LINK, LINK))
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
        "module::vhost_net": lambda: "loaded",
        GOVERNOR: lambda: numbers.choice(("performance", "ondemand")),
        "governor::cpu0": lambda: "performance",
        PAGES: lambda: str(numbers.randrange(1, 4096)),
        "ovs-interface:p0:options:n_rxq": lambda: str(numbers.randrange(3, 9)),
        "ovs-interface:br0:mtu_request": lambda: str(numbers.randrange(1280, 1499)),
        "irq:osa0:41": lambda: numbers.choice("01"),
        "irq:osa0:42": lambda: numbers.choice(("1", "0-1")),
        "vnicc:osa0:flooding": lambda: "1",
        "vnicc:osa0:learning": lambda: "1",
        "qeth:osa0:buffer_count": lambda: str(numbers.randrange(65, 129)),
        "channels:osa0:rx": lambda: str(numbers.randrange(1, 4)),
        "channels:osa0:tx": lambda: str(numbers.randrange(1, 4)),
        "private-flag:osa0:rx_striding_rq": lambda: "off",
        "ring:osa0:rx": lambda: str(numbers.randrange(257, 1025)),
        "ring:osa0:tx": lambda: str(numbers.randrange(1, 512)),
        "mtu:osa0": lambda: str(numbers.randrange(1280, 1500)),
        TSO: lambda: "off",
        "feature:osa0:tx-checksumming": lambda: "off",
        "queue-length:osa0": lambda: str(numbers.randrange(1, 1000)),
        "rps:osa0:rx-0": lambda: f"{numbers.randrange(1, 4):x}",
        "rps-flows:osa0:rx-0": lambda: str(numbers.randrange(1, 65536)),
        "xps:osa0:tx-0": lambda: f"{numbers.randrange(1, 4):x}",
    }
    own = [field for field in choices if field.split(":")[1] == device]
    drawn = numbers.sample(own, numbers.randrange(1, min(4, len(own)) + 1))
    return {field: choices[field]() for field in drawn}


@rows
def test_a_value_that_a_plan_may_not_set_is_refused(
    host: BoundHost, field: str, value: str
) -> None:
    before = host.seen()
    unit = host.apply({field: value})
    assert (unit.outcome, host.seen()) == ("refused", before)
    assert f"{field}={value} is no setting that is changed here" in unit.message


@pytest.mark.parametrize(
    "field", ["ovs::dpdk-init", "ovs-interface:p0:type", "pages::../../x", "sysctl::kernel.panic"]
)
def test_a_setting_that_a_plan_may_not_set_is_refused(host: BoundHost, field: str) -> None:
    """Keys that need a restart of Open vSwitch, too."""
    before, step = host.seen(), step_to(host.facts(), TARGET, {GOVERNOR: "performance"})
    unit = replace(step.unit, values={field: "1"}, old={field: ""})
    digest, diff = setting_digest(TARGET, unit), setting_diff("", unit.old, unit.values)
    step = replace(step, unit=unit, digest=digest, diff=diff)
    (done,) = host.stage.apply((step,), host.stage.context()).run.steps
    assert (done.outcome, host.seen()) == ("refused", before)
    assert f"{field}=1 is no setting that is changed here" in done.message


def test_queues_are_not_taken_from_guests(host: BoundHost) -> None:
    port = ("add-port", "br0", "vhu0", "--", "set", "Interface", "vhu0")
    host.switch.set("--no-wait", *port, "type=dpdkvhostuserclient")
    before = host.seen()
    try:
        unit = host.apply({"ovs-interface:p0:options:n_rxq": "1"})
        assert (unit.outcome, host.seen()) == ("refused", before)
        assert "takes queues away, which running guests may use" in unit.message
    finally:
        host.switch.set("--no-wait", "del-port", "vhu0")
    assert host.apply({"ovs-interface:p0:options:n_rxq": "1"}, "without them").outcome == "applied"
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
