"""What of the kernel's log leaves a host: a few lines of what may be millions."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.platforms.host.test_readings import PART, sections
from vnicaudit.model.host_facts import KernelLog
from vnicaudit.platforms.host.facts import kernel_log
from vnicaudit.platforms.host.readings import SectionReadings, script_for

NARROW = "tap0: dropped over-mtu packet: 9000 > 1500"
FULL = "nf_conntrack: nf_conntrack: table full, dropping packet"
BOOT, LINK = "Linux version 6.1", "eth0: link up"
WEEK = 7 * 86400


@pytest.mark.parametrize(
    ("ages", "narrow", "full"),
    [
        ([], 0, False),
        ([(90, NARROW), (80, LINK)], 1, False),
        ([(90, FULL), (80, LINK)], 0, True),
        ([(90, LINK), (80, FULL)], 0, True),
        ([(WEEK + 90, FULL), (90, FULL), (80, LINK)], 0, True),  # the last one counts
        ([(WEEK + 90, FULL), (80, LINK)], 0, False),
        ([(WEEK + 90, NARROW)], 0, False),  # though it is the last message
        ([(90, FULL), (80, FULL), (70, NARROW), (60, NARROW), (50, FULL)], 2, True),
        ([(WEEK + 90, FULL), (70, NARROW), (60, LINK)], 1, False),
    ],
)
def test_dmesg_is_read_where_there_is_no_journal(
    tmp_path: Path, ages: list[tuple[float, str]], narrow: int, full: bool
) -> None:
    now = 2 * WEEK
    (tmp_path / "uptime").write_text(f"{now}.00 5.00\n")
    messages = [(now, BOOT), *ages]
    text = "\n".join(f"[{now - age:12.6f}] {message}" for age, message in messages)
    for name, does in (("journalctl", "exit 1"), ("dmesg", f"cat <<'end'\n{text}\nend")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)
    assert _read(tmp_path) == KernelLog(
        over_mtu={"tap0": narrow} if narrow else {}, conntrack_full=full
    )


def test_a_log_that_may_not_be_read_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "uptime").write_text("5.00 5.00\n")
    for name in ("journalctl", "dmesg"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    assert _read(tmp_path) is None


def _read(folder: Path) -> object:
    script = PART + script_for([kernel_log.FACT])
    script = script.replace("now/' /proc/uptime", f"now/' {folder}/uptime")
    ran = subprocess.run(
        ["sh", "-c", script + "\npart end\n", "sh", "0"],
        capture_output=True, text=True, check=True,
        env={"PATH": f"{folder}:{os.environ['PATH']}"},
    )  # fmt: skip
    return kernel_log.FACT.read(SectionReadings(sections(ran.stdout))).get("log")
