"""Open vSwitch's programs are on the host, in a snap, or in a container of Kolla."""

import socket
import subprocess
from pathlib import Path

import pytest

from tests.platforms.host.test_readings import PART, sections
from vnicaudit.platforms.host.facts import ovs
from vnicaudit.platforms.host.readings import SectionReadings, script_for

SHELL = "/bin/sh"


@pytest.mark.parametrize(
    ("there", "said"),
    [
        (["ovs-vsctl", "ovs-appctl", "docker", "db.sock"], "ovs-appctl coverage/show"),
        (["ovs-vsctl", "ovs-appctl"], None),
        (["docker", "grep"], "docker exec openvswitch_vswitchd ovs-appctl coverage/show"),
        (["podman", "grep"], "podman exec openvswitch_vswitchd ovs-appctl coverage/show"),
        (["docker", "podman"], None),  # neither is asked, as asking may start it
        ([], None),
    ],
)
def test_what_stands_before_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: list[str], said: str | None
) -> None:
    """``grep`` finds its process."""
    programs = [name for name in there if name != "db.sock"]
    does = (f'>>{tmp_path}/ran; echo "${{0##*/}} $*"', "exit 0")
    for name in programs:
        (tmp_path / name).write_text(f"#!{SHELL}\n{does[name == 'grep']}\n")
        (tmp_path / name).chmod(0o755)
    listening = socket.socket(socket.AF_UNIX)
    if "db.sock" in there:
        monkeypatch.chdir(tmp_path)  # the path of a socket must be short
        listening.bind("db.sock")
    script = PART + script_for([ovs.FACT]) + "\npart end\n"
    ran = subprocess.run(
        [SHELL, "-c", script, "sh", "0"],
        env={"PATH": str(tmp_path), "OVS_RUNDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    listening.close()
    readings = SectionReadings(sections(ran.stdout))
    printed = readings.output(ovs.COVERAGE.name)
    assert (printed.strip() if printed else None) == said
    assert ovs.read(readings)["has_ovs"] is (said is not None)
    assert (tmp_path / "ran").exists() == (said is not None), "what may start it is not run"
