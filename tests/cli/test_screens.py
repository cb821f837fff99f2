"""The screens that people see: hundreds of guests fit one, and nothing is hidden that is not
counted."""

import csv
import io
import json
import random
import re
from pathlib import Path

import pytest

from benchmarks.files import definition
from tests.cli.command import vnicaudit
from tests.cli.inside import inside
from tests.drawing import drawn_seed
from tests.rows import rows
from vnicaudit.reports.safe import width_of

GUESTS = 300
SLOW = """<domain type='kvm'><name>a</name><vcpu>1</vcpu>
<os><type arch='x86_64' machine='pc'>hvm</type></os>
<devices><interface type='bridge'><mac address='52:54:00:00:00:01'/><source bridge='b'/>
<model type='rtl8139'/></interface></devices></domain>"""


@pytest.fixture(scope="module")
def guests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """300 definitions with two NICs each."""
    folder = tmp_path_factory.mktemp("guests")
    seed = drawn_seed()
    print(f"seed {seed}")
    dice = random.Random(seed)
    for number in range(GUESTS):
        (folder / f"vm-{number}.xml").write_text(definition(number, dice))
    return folder


@pytest.mark.parametrize("width", [60, 80, 200])
def test_an_audit_of_300_guests_is_a_screen(guests: Path, width: int) -> None:
    done = inside("audit", guests, env={"COLUMNS": str(width)})
    assert (done.returncode, done.stderr) == (1, "")
    assert len(done.stdout.splitlines()) < 60
    words = " ".join(done.stdout.split())
    (total,) = re.findall(r"^\d+ of \d+ NICs are slow, \d+ unknown. (\d+) problems", words)
    assert sum(map(int, re.findall(r"(\d+) problems? in \d+ guests?\b", words))) == int(total)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_a_plan_of_300_guests_is_a_screen(guests: Path, width: int) -> None:
    done = inside("plan", guests, "--include-unsafe", env={"COLUMNS": str(width)})
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) < 80
    assert max(map(width_of, done.stdout.splitlines())) <= width
    (total,) = re.findall(r"^(\d+) steps on ", done.stdout, re.MULTILINE)
    rows = re.findall(r"^  \d+ guests? +(\d+) ", done.stdout, re.MULTILINE)
    hidden = re.findall(r"^  … (\d+) more steps?", done.stdout, re.MULTILINE)
    assert sum(map(int, rows + hidden)) == int(total)


def test_one_line_for_each_finding(guests: Path) -> None:
    lines = inside("audit", guests, "--format", "concise", "-q").stdout.splitlines()
    found = json.loads(inside("audit", guests, "--format", "json").stdout)["findings"]
    assert len(lines) == len(found)
    assert all(re.match(r"\S+\.xml:\d+: \w+ VNIC\d+ vm-\d+", line) for line in lines)


def test_what_is_left_out_is_counted_and_fails_nothing(guests: Path) -> None:
    whole = json.loads(inside("audit", guests, "--format", "json").stdout)["summary"]
    some = inside("audit", guests, "--level", "high", "--format", "json")
    summary = json.loads(some.stdout)["summary"]
    assert summary["findings"] == whole["by_severity"]["high"]
    assert summary["filtered"] == whole["findings"] - summary["findings"]
    none = inside("audit", guests, "--owner", "nova")
    assert none.returncode == 0
    assert "No matching problems in 300 guests" in none.stdout
    assert f"{whole['findings']} findings left out by " in none.stdout


@rows
def test_what_is_left_out_is_told_once(tmp_path: Path, report: list[str], told: bool) -> None:
    (tmp_path / "a.xml").write_text(SLOW)
    words = ["audit", "a.xml", "--owner", "nova", "--level=medium", *report]
    done = inside(*words, cwd=tmp_path)
    assert done.returncode == 0
    sentence = r"^\d+ findings? left out by --level and --owner$"
    assert bool(re.search(sentence, done.stderr, re.MULTILINE)) == told
    assert not inside("audit", "a.xml", *report, cwd=tmp_path).stderr.count("left out")


def test_an_owner_that_there_is_not(guests: Path) -> None:
    for command in ("audit", "nics"):
        assert inside(command, guests, "--owner", "LIBVIRT").returncode in (0, 1)
        done = inside(command, guests, "--owner", "libvrit")
        assert done.returncode == 2
        assert "--owner: unknown owner 'libvrit'; did you mean 'libvirt'?" in done.stderr
    assert inside("nics", guests, "--owner", "LIBVIRT", "--format=csv").stdout.count("\n") > GUESTS


@pytest.mark.parametrize("option", ["--select=VNIC001", "--ignore=VNIC001"])
def test_no_baseline_of_some_rules(guests: Path, option: str, tmp_path: Path) -> None:
    done = inside("audit", guests, option, "--write-baseline", tmp_path / "b.json")
    assert done.returncode == 2
    assert "would forget the findings of all other rules" in done.stderr


@pytest.mark.parametrize("option", ["--level=high", "--owner=nova", "--domain=vm-001"])
def test_no_baseline_of_some_findings(guests: Path, option: str, tmp_path: Path) -> None:
    done = inside("audit", guests, option, "--write-baseline", tmp_path / "b.json")
    assert done.returncode == 2
    assert "would forget all other findings" in done.stderr


@rows
def test_a_wrong_name_gets_a_suggestion(guests: Path, words: list[str], hint: str) -> None:
    done = inside(*[word.format(guests=guests) for word in words])
    assert done.returncode in (2, 4)
    assert hint in done.stderr


def test_nics_are_filtered_sorted_and_written_as_csv(guests: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(inside("nics", guests, "--format", "csv").stdout)))
    assert len(rows) == 2 * GUESTS
    slow = {row["domain"] for row in rows if row["verdict"] == "slow"}
    wrong = list(
        csv.DictReader(io.StringIO(inside("nics", guests, "--wrong", "--format", "csv").stdout))
    )
    assert {row["domain"] for row in wrong} == slow | {
        row["domain"] for row in rows if row["verdict"] == "less"
    }
    text = inside("nics", guests, "--sort", "worst").stdout
    assert f"\n{2 * GUESTS} NICs in {GUESTS} guests: " in text
    first = re.findall(r"^(vm-\d+)\b", text, re.MULTILINE)[: len(slow)]
    assert set(first) == slow


def test_a_terminal_of_another_encoding_gets_plain_characters(guests: Path) -> None:
    done = vnicaudit("plan", guests, env={"PYTHONIOENCODING": "latin-1"})
    assert re.search(r"^  .* > virtio", done.stdout, re.MULTILINE)
    assert done.stdout.isascii()
    assert "\\u" not in done.stdout


def test_the_same_text_in_a_pipe_as_to_a_file(guests: Path, tmp_path: Path) -> None:
    place = tmp_path / "report.txt"
    assert inside("audit", guests, "-o", place).returncode == 1
    assert place.read_text() == inside("audit", guests).stdout
