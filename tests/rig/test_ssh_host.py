"""A whole host, reached by ssh: each fault planted there is found where it is, and nothing else;
what is set is seen by testinfra, which does not read it as the product does."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from testinfra.host import Host, get_host

from tests.cli.command import vnicaudit
from tests.rig.host import MANAGED, UPLINK, SshHost
from tests.rig.host_faults import (
    CLEAN,
    FLOWS,
    FOUND_AND_MENDED,
    INTERRUPTS,
    KEPT,
    ONLY_FOUND,
    TAP,
    Found,
    Plant,
)

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


@pytest.mark.long  # each value that is set, and read again, is a visit
def test_faults_are_mended_and_brought_back(host: SshHost, tmp_path: Path) -> None:
    plan, state = tmp_path / "plan.json", ("--state", tmp_path / "state")
    trusted = ("--trust-uri", "all", "--yes", *state, *_PATIENCE)
    eye = get_host(
        f"ssh://root@{host.address}",
        ssh_identity_file=str(host.key),
        ssh_extra_args=f"-o UserKnownHostsFile={host.known_hosts}",
    )
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
