"""``vnicaudit bench profiles``, and the group it is in."""

import json
from pathlib import Path

from tests.cli import command
from tests.cli.inside import inside as vnicaudit
from tests.cli.test_imports import loaded

OWN = """\
title = "The web tier"
repeats = 5
[[workload]]
engine = "iperf3"
patterns = ["tcp"]
directions = ["rx"]
seconds = 5
"""


def test_list() -> None:
    result = vnicaudit("bench", "profiles")
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    names = [line.split()[0] for line in lines if not line.startswith(" ")]
    assert names == [
        "dns", "ibm-z", "k8s-netperf", "line-100g", "loaded", "quick", "smoke", "switch-dns",
        "tcp-dns", "vduse",
    ]  # fmt: skip
    at = next(number for number, line in enumerate(lines) if line.startswith("quick "))
    assert lines[at] == (
        "quick        Is it better, the same or worse? Nine workloads, eight runs each"
    )
    assert lines[at + 1] == "             9 workloads; before and after together: 32 min"
    assert "             3 workloads; before and after together: 17 min to 1 h 8 min" in lines


def test_one_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "web.toml").write_text(OWN)
    result = vnicaudit("bench", "profiles", "web.toml", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "web  The web tier",
        "  takes        before and after together: 1 min 45 s",
        "  judged       after 5 runs of each arm, at an error probability of 0.05",
        "  runs         2 s apart; repeated if others used more than 2 % of the CPUs",
        "",
        "Workloads (*: the verdict rests on it)",
        "* iperf3.tcp.rx.c1     8.5 s  goodput",
    ]


def test_verbose_says_it_in_words(tmp_path: Path) -> None:
    (tmp_path / "web.toml").write_text(OWN)
    result = vnicaudit("bench", "profiles", "web.toml", "--verbose", cwd=tmp_path)
    assert result.stdout.splitlines()[-1] == ("    iperf3 tcp, the target receives, 1 connection")


def test_quiet_leaves_the_description_away() -> None:
    loud, quiet = (vnicaudit("bench", "profiles", "dns", *more).stdout for more in ([], ["-q"]))
    assert "Needs a DNS server" in loud
    assert "Needs a DNS server" not in quiet
    assert "dnsperf.capacity.g2" in quiet


def test_json() -> None:
    result = vnicaudit("bench", "profiles", "smoke", "--format", "json")
    document = json.loads(result.stdout)
    assert document["schema"] == "vnicaudit.profiles/1"
    (profile,) = document["profiles"]
    assert profile["name"] == "smoke"
    assert profile["seconds"] == [42.0]
    assert [each["id"] for each in profile["workloads"]] == [
        "iperf3.tcp.tx.c1.64k", "iperf3.tcp.rx.c1.64k",
    ]  # fmt: skip
    everything = json.loads(vnicaudit("bench", "profiles", "--format", "json").stdout)
    assert len(everything["profiles"]) == 10


def test_a_mistake_is_told_with_its_table_and_key(tmp_path: Path) -> None:
    (tmp_path / "web.toml").write_text(OWN.replace("patterns", "pattern"))
    result = vnicaudit("bench", "profiles", "web.toml", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == (
        "Error: web.toml: [[workload]] 1: unknown key 'pattern'; did you mean 'patterns'?\n"
    )


def test_nothing_of_a_file_reaches_the_terminal_raw(tmp_path: Path) -> None:
    (tmp_path / "web.toml").write_text(
        OWN.replace("The web tier", "\\u001b[31mred\\u0007").replace(
            "repeats", "sources = ['''\na\x9b''']\nrepeats"
        ),
        "utf-8",
    )
    result = vnicaudit("bench", "profiles", "web.toml", "--color", "never", cwd=tmp_path)
    assert result.returncode == 0
    assert r"\x1b[31mred\x07" in result.stdout
    assert not set("\x1b\x07\x9b") & set(result.stdout)


def test_no_such_profile() -> None:
    result = vnicaudit("bench", "profiles", "quik")
    assert result.returncode == 2
    assert "no profile 'quik'; did you mean 'quick'?" in result.stderr


def test_help_of_the_group_lists_its_commands() -> None:
    result = vnicaudit("bench", "--help")
    assert result.returncode == 0
    assert "  profiles   List built-in profiles" in result.stdout
    assert "  line-rate  Show a link" in result.stdout


def test_no_such_command() -> None:
    result = vnicaudit("bench", "rnu")
    assert result.returncode == 2
    assert "No such command 'rnu'" in result.stderr


def test_completion_knows_the_shipped_profiles() -> None:
    env = {
        "_VNICAUDIT_COMPLETE": "bash_complete",
        "COMP_WORDS": "vnicaudit bench profiles s",
    }
    result = command.vnicaudit(env=env)
    assert result.stdout.split() == ["file,s", "plain,smoke", "plain,switch-dns"]


def test_neither_libvirt_nor_testinfra_is_loaded() -> None:
    for arguments in (["bench", "profiles"], ["bench", "line-rate", "--speed", "1G"]):
        assert not loaded(*arguments) & {"libvirt", "testinfra", "lxml", "rich"}
