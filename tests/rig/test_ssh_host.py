"""A whole host, reached by ssh: each fault planted there is found where it is, and nothing else;
what is set is seen by testinfra, which does not read it as the product does."""

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path

import pytest
from testinfra.host import Host, get_host

from tests.cli.command import vnicaudit
from tests.remedy.applying.fakes import Stage
from tests.remedy.applying.settings_host import step_to
from tests.rig.host import CPUS, MANAGED, UPLINK, SshHost
from tests.rig.host_faults import (
    CLEAN,
    FEWER_QUEUES,
    FLOWS,
    FOUND_AND_MENDED,
    INTERRUPTS,
    KEPT,
    ONLY_FOUND,
    TAP,
    Found,
    Plant,
)
from tests.rig.process import wait_for
from vnicaudit.cli.wiring.adapters import adapters
from vnicaudit.knowledge.host_settings import HostSetting
from vnicaudit.remedy.hypervisor import CloudAccess

pytestmark = pytest.mark.rig

_MENDED = ("--select", "VNIC050", "--select", "VNIC051", "--select", "VNIC107")
_FILES = (
    "99-vnicaudit-net.core.rps_sock_flow_entries.conf",
    f"90-vnicaudit-{UPLINK}-channels-combined.rules",
)
_PATIENCE = ("VNICAUDIT_DEADLINE=300",)
"""For one visit: a fork is dear where all is emulated."""


@pytest.fixture(scope="module")
def host(ssh_host: SshHost) -> SshHost:
    """One with a guest, and without a fault."""
    ssh_host.run(CLEAN).output()
    return ssh_host


@contextmanager
def _planted(host: SshHost, plants: Sequence[Plant]) -> Iterator[Found]:
    """All that is to be found; it is gone afterwards."""
    host.run("\n".join(one.do for one in plants)).output()
    try:
        yield frozenset[tuple[str, str]]().union(*(one.found for one in plants))
    finally:
        host.run("\n".join(one.undo for one in reversed(plants))).output()


def _found(host: SshHost) -> Found:
    ran = vnicaudit("audit", host.target, "--window", "0", "--format", "json", *_PATIENCE)
    assert ran.returncode in (0, 1), ran.stderr + ran.stdout[-2000:]
    findings = json.loads(ran.stdout)["findings"]
    places = [(one["rule"], one["location"]["xpath"].partition("/")[2]) for one in findings]
    assert len(places) == len(set(places))
    return frozenset(places)


def _eye(host: SshHost) -> Host:
    return get_host(
        f"ssh://root@{host.address}",
        ssh_identity_file=str(host.key),
        controlpath=str(host.known_hosts.with_name("eye")),
        ssh_extra_args=f"-o UserKnownHostsFile={host.known_hosts}",
    )


def _seen(host: Host) -> dict[str, object]:
    """What is set there, by modules of testinfra."""
    queue = f"/sys/class/net/{UPLINK}/queues/rx-3/rps_cpus"
    features = host.run("ethtool -k %s", UPLINK).stdout.splitlines()
    return {
        "entries": host.sysctl("net.core.rps_sock_flow_entries"),
        "mask": host.file(queue).content_string.strip(),
        "segmentation": next(line for line in features if line.startswith("tcp-seg")),
        "there": host.interface(UPLINK).exists and host.interface(TAP).exists,
        "address": bool(host.interface(MANAGED).addresses),
    }


def test_nothing_is_found_where_there_is_no_fault(host: SshHost) -> None:
    assert _found(host) == frozenset()


@pytest.mark.parametrize(
    "plants",
    [
        pytest.param(FOUND_AND_MENDED, id="mended"),
        pytest.param(INTERRUPTS, id="interrupts"),
        pytest.param(ONLY_FOUND, id="last"),
    ],
)
def test_each_fault_is_found_where_it_is(host: SshHost, plants: Sequence[Plant]) -> None:
    with _planted(host, plants) as expected:
        assert _found(host) == expected


def test_rings_and_channels_are_set_and_come_back(host: SshHost, tmp_path: Path) -> None:
    """With the interrupts that somebody had moved before, which the driver then moves as well."""
    eye, stage = _eye(host), Stage(tmp_path)
    stage.deadline, stage.reach = 300, CloudAccess(trusted=frozenset({host.target}))

    def seen() -> str:
        return eye.check_output(
            f"ethtool -g {UPLINK}; ethtool -l {UPLINK}; grep . /proc/irq/*/smp_affinity_list "
            f"/sys/class/net/{UPLINK}/queues/*/*; ip link show dev {UPLINK}"
        )

    with _planted(host, (FEWER_QUEUES,)):
        before = seen()
        with closing(stage.adapters.host(host.target, 300)) as place:
            facts = place.facts()
        wanted = {f"ring:{UPLINK}:rx": "512", f"channels:{UPLINK}:combined": str(CPUS)}
        step = step_to(facts, host.target, wanted)
        (unit,) = stage.apply((step,), stage.context()).run.steps
        assert unit.outcome == "applied", unit.message
        queues = re.findall(r"^(?:RX|Combined):\s+(\d+)$", seen(), re.MULTILINE)
        assert queues == ["1024", "512", "4", "4"]
        assert any(check.detail.startswith(f"irq:{UPLINK}:") for check in unit.checks)
        (back,) = stage.rollback(stage.context())
        assert back.run.steps[0].outcome == "applied", back.run.steps[0].message
        assert seen() == before


def test_a_timer_of_systemd_sets_back_unless_it_is_disarmed(host: SshHost) -> None:
    """Also once the connection is closed by which it was armed."""
    eye, mtu = _eye(host), HostSetting("mtu", UPLINK)
    kept, due = (f"rig{os.getpid()}-{end}" for end in ("kept", "due"))

    def state(name: str) -> list[str]:
        folder = f"/run/vnicaudit/{name}"
        return eye.run(f"systemctl is-active vnicaudit-{name}.timer; ls {folder}").stdout.split()

    with closing(adapters().host(host.target, 300)) as place:
        place.set([(mtu, "1400")])
        for name, seconds in ((kept, 600), (due, 5)):
            script = place.undo_script(name, [(mtu, "1500")], [(mtu, "1500")])
            place.arm(name, script, sha256(script.encode()).hexdigest(), seconds)
            if name == kept:
                assert state(kept) == ["active", "armed", "undo"]
                assert place.disarm(kept) == "disarmed"
    wait_for(lambda: state(due) == ["inactive", "undo", "undone"], "the timer has set it back")
    assert state(kept) == ["inactive", "disarmed", "undo"]
    assert eye.file(f"/sys/class/net/{UPLINK}/mtu").content_string == "1500\n"
    host.run("rm -r /run/vnicaudit").output()


@pytest.mark.long  # each value that is set, and read again, is a visit
def test_faults_are_mended_and_brought_back(host: SshHost, tmp_path: Path) -> None:
    plan, state = tmp_path / "plan.json", ("--state", tmp_path / "state")
    trusted = ("--trust-uri", "all", "--yes", *state, *_PATIENCE)
    eye = _eye(host)
    with _planted(host, FOUND_AND_MENDED):
        before = _seen(eye)
        made = vnicaudit("plan", host.target, *_MENDED, "-o", plan, *_PATIENCE)
        assert made.returncode == 0, made.stderr
        applied = vnicaudit("apply", plan, *trusted, timeout=600)
        assert applied.returncode == 0, applied.stderr + applied.stdout
        assert _seen(eye) == before | {
            "entries": 32768,
            "mask": "0",
            "segmentation": "tcp-segmentation-offload: on",
        }
        run = json.loads(vnicaudit("runs", "--format", "json", *state).stdout)["runs"][0]["id"]
        undone = vnicaudit("rollback", run, *trusted, timeout=600)
        assert undone.returncode == 0, undone.stderr + undone.stdout
        assert _seen(eye) == before


@pytest.mark.long  # four boots
def test_what_files_keep_is_there_after_a_boot_and_gone_after_a_rollback(
    host: SshHost, tmp_path: Path
) -> None:
    """Also where a .link file says otherwise, which udev applies when it renames the adapter."""
    plan, state = tmp_path / "plan.json", ("--state", tmp_path / "state")
    trusted = ("--trust-uri", "all", "--yes", *state, *_PATIENCE)
    selected = ("--select", "VNIC050", "--select", "VNIC119")
    try:
        host.run(KEPT.do).output()
        host.restart()
        assert (before := _kept(host)) == ["1", "0"]
        host.run(f"{CLEAN}\n{FLOWS}").output()
        assert _found(host) == KEPT.found
        unsafe = "--include-unsafe"
        made = vnicaudit("plan", host.target, *selected, unsafe, "-o", plan, *_PATIENCE)
        assert made.returncode == 0, made.stderr
        applied = vnicaudit("apply", plan, unsafe, *trusted, timeout=600)
        assert applied.returncode == 0, applied.stderr + applied.stdout
        host.restart()
        assert _kept(host) == ["4", "32768", *_FILES]
        run = json.loads(vnicaudit("runs", "--format", "json", *state).stdout)["runs"][0]["id"]
        undone = vnicaudit("rollback", run, *trusted, timeout=600)
        assert undone.returncode == 0, undone.stderr + undone.stdout
        host.restart()
        assert _kept(host) == before
    finally:
        host.run(KEPT.undo).output()
        host.restart()
        host.run(CLEAN).output()


def _kept(host: SshHost) -> list[str]:
    """Queues of the uplink, entries of RFS, and the files that keep them."""
    script = f"""
set -- $(ethtool -l {UPLINK} | grep Combined)
cd /etc; echo "$4 $(cat /proc/sys/net/core/rps_sock_flow_entries)" \
    $(ls udev/rules.d sysctl.d | grep vnicaudit)
"""
    return host.run(script).output().split()
