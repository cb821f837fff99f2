"""The script that reads a host, and what its answer gives to parsers."""

import os
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from vnicaudit.model.host import Section
from vnicaudit.model.host_facts import CpuFacts, HostFacts
from vnicaudit.platforms.host.facts import cpus, processes
from vnicaudit.platforms.host.readings import (
    Excerpt,
    HostCommand,
    HostFact,
    HostReadings,
    SectionReadings,
    facts_from,
    matching,
    script_for,
)

ONE = HostCommand("printf '%s' one", is_counter=True)
GONE = HostCommand("no-such-program")
PART = """
part() { printf '\\n@ %s\\n' "$1"; }
fact() { part "$1"; shift; "$@" 2>&1; printf '\\n@ code %s' "$?"; }
"""


def _read(readings: HostReadings) -> dict[str, object]:
    return {"online": (0,)} if readings.output(ONE.name) == "one" else {}


def _answer(folder: Path, window: str) -> SectionReadings:
    (folder / "mtu a").write_text("1500\n")
    (folder / "list").write_text("a:b\n\nc\n")
    (folder / "secret").write_text("[a]\npassword = x\ncpus = 1\n")
    (folder / "empty").touch()
    patterns = (f"{folder}/mtu*", f"{folder}/missing", f"{folder}/lis?".replace("?", "*"))
    pattern, missing, listed = (each.replace("mtu a", "mtu*") for each in patterns)
    fact = HostFact(
        "test",
        _read,
        (pattern, missing),
        (listed,),
        (ONE, GONE, HostCommand("echo never", is_run=False)),
        (Excerpt(r"^\[.*|^cpus.*", (f"{folder}/secret", f"{folder}/no*")),),
        (f"{folder}/em*", f"{folder}/missing"),
        "part 'own x'; echo 5",
    )
    script = PART + script_for([fact]) + "\npart end\n"
    ran = subprocess.run(
        ["sh", "-c", script, "sh", window], capture_output=True, text=True, check=True
    )
    return SectionReadings(sections(ran.stdout))


def sections(text: str) -> list[Section]:
    found: list[Section] = []
    for piece in text.split("\n@ ")[1:]:
        name, _end, body = piece.partition("\n")
        if name.startswith("code "):
            found[-1] = replace(found[-1], code=int(name[5:]))
        else:
            found.append(Section(name, body))
    return found[:-1]


def test_files_and_outputs_are_found_by_name(tmp_path: Path) -> None:
    seen = _answer(tmp_path, "0")
    assert seen.text(f"{tmp_path}/mtu a") == "1500"
    assert seen.texts(f"{tmp_path}/lis*") == {f"{tmp_path}/list": "a:b\n\nc"}
    assert seen.text(f"{tmp_path}/missing") is None
    assert seen.text(f"{tmp_path}/secret") == "[a]\ncpus = 1"
    assert seen.texts(f"{tmp_path}/em*") == {f"{tmp_path}/empty": ""}
    assert seen.output(ONE.name) == "one"
    assert seen.output("echo never") is None
    assert seen.output(GONE.name) is None, "it failed"
    assert seen.outputs("own") == {"x": "5\n"}
    assert seen.window is None
    assert seen.later() is seen


def test_counters_are_read_again_after_the_window(tmp_path: Path) -> None:
    seen = _answer(tmp_path, "0.02")
    assert seen.window is not None
    later = seen.later()
    assert later.text(f"{tmp_path}/list") == "a:b\n\nc"
    assert later.text(f"{tmp_path}/mtu a") is None, "no counter"
    assert later.output(ONE.name) == "one"


def test_a_fact_gives_fields_of_the_host_or_of_its_cpus(tmp_path: Path) -> None:
    seen = _answer(tmp_path, "0")
    links = HostFact("links", lambda _readings: {"links": ()})
    cpus = HostFact("cpus", _read, commands=(ONE,), of_cpus=True)
    assert facts_from(seen, [links, cpus]) == HostFacts(links=(), cpus=CpuFacts(online=(0,)))


@pytest.mark.parametrize("text", ["--5", "9" * 5000, "5-", "", "\N{ARABIC-INDIC DIGIT FIVE}"])
def test_a_setting_that_is_no_number_is_unknown(text: str) -> None:
    assert HostFacts(sysctls={"net.core.x": text}).sysctl("net.core.x") is None


def test_a_pattern_matches_part_by_part() -> None:
    files = {"/sys/class/net/eth0/mtu": "1500", "/sys/class/net/eth0/queues/mtu": ""}
    assert matching(files, "/sys/class/net/*/mtu") == {"/sys/class/net/eth0/mtu": "1500"}


GREP = """#!/bin/sh
case $1 in *Z*) echo "grep: invalid option -- 'Z'" >&2; exit 1;; esac
exec /usr/bin/grep "$@"
"""


def test_files_are_read_without_the_grep_of_gnu(tmp_path: Path) -> None:
    """BusyBox's has no ``-Z``."""
    grep = tmp_path / "grep"
    grep.write_text(GREP)
    grep.chmod(0o755)
    (tmp_path / "mtu a").write_text("1500\n")
    (tmp_path / "list").write_text("a:b\n\nc")
    pids = Path("/proc/sys/kernel/pid_max")
    files = (f"{tmp_path}/mtu*", f"{tmp_path}/list", f"{tmp_path}/missing", str(pids))
    script = PART + script_for([HostFact("test", _read, files)]) + "\npart end\n"
    ran = subprocess.run(
        ["sh", "-c", script, "sh", "0"], capture_output=True, text=True, check=True,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )  # fmt: skip
    readings = SectionReadings(sections(ran.stdout))
    assert readings.texts(f"{tmp_path}/*") == {
        f"{tmp_path}/mtu a": "1500", f"{tmp_path}/list": "a:b\n\nc",
    }  # fmt: skip
    assert readings.texts(str(pids)) == {str(pids): pids.read_text().strip()}


def test_of_a_command_line_only_known_parameters_leave_a_host(tmp_path: Path) -> None:
    line = tmp_path / "cmdline"
    excerpt = next(each for each in cpus.FACT.excerpts if each.files == ("/proc/cmdline",))
    fact = HostFact("test", _read, excerpts=(excerpt._replace(files=(str(line),)),))
    script = PART + script_for([fact]) + "\npart end\n"
    for text, kept in [
        (
            "root=x isolcpus=1,2 rd.luks.key=hush nohz_full=3\n",
            ["r", "isolcpus=1,2", "nohz_full=3"],
        ),
        ("isolcpus=1 xnohz_full=3\n", ["isolcpus=1"]),
        ("quiet\n", ["q"]),
    ]:
        line.write_text(text)
        ran = subprocess.run(
            ["sh", "-c", script, "sh", "0"], capture_output=True, text=True, check=True
        )
        seen = SectionReadings(sections(ran.stdout)).text(str(line))
        assert seen is not None
        assert seen.split() == kept


SAVE = """#!/bin/sh
[ "$1" != -V ] || { echo "iptables-save v1.8.9 (legacy)"; exit; }
echo "-A FORWARD -m physdev --physdev-out tap0"
"""


def test_the_packet_filter_is_asked_only_where_its_kind_is_in_use(tmp_path: Path) -> None:
    """The program that lists rules loads the modules of its kind."""
    save = tmp_path / "iptables-save"
    names = tmp_path / "names"
    save.write_text(SAVE)
    save.chmod(0o755)
    script = PART + script_for([processes.USES]).replace("/proc/net/ip_tables_names", str(names))
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    for there in (False, True):
        if there:
            names.touch()
        ran = subprocess.run(
            ["sh", "-c", script + "\npart end\n", "sh", "0"],
            capture_output=True, text=True, check=True, env=environment,
        )  # fmt: skip
        assert (SectionReadings(sections(ran.stdout)).output("iptables-save") is not None) == there


def test_a_script_that_nobody_reads_any_more_does_not_wait_for_its_window() -> None:
    script = PART + script_for([])
    with subprocess.Popen(["sh", "-c", script, "sh", "500"], stdout=subprocess.PIPE) as waiting:
        assert waiting.stdout is not None
        while waiting.stdout.readline() != b"@ waiting\n":
            assert waiting.poll() is None
        waiting.stdout.close()
        assert waiting.wait(60) < 0
