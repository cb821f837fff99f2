"""Reports in files: whole or not at all, and never one over another."""

import json
import os
from pathlib import Path

import pytest

from tests.cli.command import vnicaudit
from tests.cli.inside import inside
from vnicaudit.cli.output.files import check_not_compressed, format_of
from vnicaudit.errors import UsageError

DOMAIN = """<domain type='kvm'><name>{name}</name><vcpu>1</vcpu>
<os><type arch='x86_64' machine='q35'>hvm</type></os>
<devices>
<disk type='file' device='disk'><source file='/a'/><target dev='vda' bus='virtio'/></disk>
<interface type='bridge'>
<source bridge='br0'/><model type='rtl8139'/>
</interface></devices></domain>
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "guests").mkdir()
    (tmp_path / "guests" / "a.xml").write_text(DOMAIN.format(name="a"))
    return tmp_path


def marks(path: Path) -> list[str]:
    return list(json.loads(path.read_text())["fingerprints"])


def test_a_baseline_is_refreshed_in_place(folder: Path) -> None:
    known = folder / "known.json"
    assert inside("audit", "guests", "--write-baseline", known, cwd=folder).returncode == 0
    first = marks(known)
    assert len(first) == 1
    (folder / "guests" / "b.xml").write_text(DOMAIN.format(name="b"))
    again = ("audit", "guests", "--baseline", known, "--write-baseline", known)
    result = inside(*again, cwd=folder)
    assert result.returncode == 0
    assert len(marks(known)) == 2
    assert set(first) < set(marks(known))
    assert inside("audit", "guests", "--baseline", known, cwd=folder).returncode == 0


@pytest.mark.parametrize("target", ["kube:prod?x=1", "http://example.org/", "esx://host/"])
def test_a_wrong_target_leaves_every_file_as_it_was(folder: Path, target: str) -> None:
    known = folder / "known.json"
    known.write_text("precious")
    result = inside(
        "audit", "guests", target, "--write-baseline", known, "-o", folder / "report", cwd=folder
    )
    assert result.returncode == 2
    assert target in result.stderr
    assert known.read_text() == "precious"
    assert sorted(path.name for path in folder.iterdir()) == ["guests", "known.json"]


@pytest.mark.parametrize(
    "places",
    [
        ("--format", "json", "-o", "same", "--write-baseline", "same"),
        ("--format", "json", "-o", "same", "--format", "csv", "-o", "./same"),
    ],
)
def test_one_file_is_not_written_twice(folder: Path, places: tuple[str, ...]) -> None:
    result = inside("audit", "guests", *places, cwd=folder)
    assert result.returncode == 2
    assert "two reports would be written to" in result.stderr or "two formats" in result.stderr
    assert not (folder / "same").exists()


def test_a_full_disk_is_said_so(folder: Path) -> None:
    result = inside("audit", "guests", "-o", "/dev/full", cwd=folder)
    assert result.returncode == 3
    assert result.stderr == "Error: /dev/full could not be written: No space left on device\n"


def test_a_missing_folder_is_said_so(folder: Path) -> None:
    result = inside("audit", "guests", "-o", "none/report.txt", cwd=folder)
    assert result.returncode == 2
    assert result.stderr == "Error: none/report.txt: No such file or directory\n"


def test_a_replaced_report_keeps_its_permissions(folder: Path) -> None:
    report = folder / "report.json"
    report.write_text("old")
    report.chmod(0o640)
    inside("audit", "guests", "--format", "json", "-o", report, cwd=folder)
    assert json.loads(report.read_text())["schema"] == "vnicaudit.report/1"
    assert report.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("count", [1, 400])
@pytest.mark.parametrize("command", ["audit", "nics"])
def test_file_names_that_are_not_utf8(folder: Path, count: int, command: str) -> None:
    """In this process and in workers; the odd byte is shown, never raw."""
    for number in range(count):
        name = b"guests/\xff\x1b[31m%d.xml" % number
        Path(folder, name.decode("utf-8", "surrogateescape")).write_text(
            DOMAIN.format(name=f"odd{number}")
        )
    result = vnicaudit(command, "guests", "--verbose", cwd=folder)
    assert result.returncode == (1 if command == "audit" else 0), result.stderr[-500:]
    assert "guests/\\xff\\x1b[31m0.xml" in "".join(result.stdout.split("\n    "))
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize("count", [1, 400])
@pytest.mark.parametrize("which", ["", "/0.xml"])
def test_a_target_whose_name_is_not_utf8(folder: Path, count: int, which: str) -> None:
    target = os.fsdecode(b"odd\xff")
    Path(folder, target).mkdir()
    for number in range(count):
        Path(folder, target, f"{number}.xml").write_text(DOMAIN.format(name=f"odd{number}"))
    done = vnicaudit("audit", f"{target}{which}", "--format", "concise", cwd=folder)
    assert (done.returncode, done.stderr) == (1, "")
    formats = ("text", "json", "sarif", "junit", "csv", "markdown", "github", "gitlab")
    for form in formats if count == 1 else ("json",):
        result = inside("audit", f"{target}{which}", "--format", form, cwd=folder)
        assert (result.returncode, result.stderr) == (1, "")
        assert b"0.xml" in result.stdout.encode()  # no part of a character is left in it


def test_such_a_target_has_one_name_in_a_report_and_one_pseudonym(folder: Path) -> None:
    target = os.fsdecode(b"odd\xff")
    Path(folder, target).mkdir()
    Path(folder, target, "a.xml").write_text(DOMAIN.format(name="odd"))
    Path(folder, target, "nova.conf").write_text("[libvirt]\nvirt_type = qemu\n")
    for words in ((target,), ("--nova-config", f"{target}/nova.conf")):
        for more in ((), ("--redact",)):
            result = inside("audit", *words, "--format", "json", *more, cwd=folder)
            report = json.loads(result.stdout)
            found = {finding["location"]["target"] for finding in report["findings"]}
            assert found == {one["target"] for one in report["targets"]}


def test_no_rule_left_is_a_mistake(folder: Path) -> None:
    result = inside("audit", "guests", "--select", "VNIC001", "--ignore", "VNIC0", cwd=folder)
    assert result.returncode == 2
    assert "leave no rule" in result.stderr


def test_a_file_has_one_fingerprint_however_it_is_named(folder: Path) -> None:
    spellings = ("guests/a.xml", "./guests/a.xml", str(folder / "guests" / "a.xml"), "guests", ".")
    found = set()
    for spelling in spellings:
        report = json.loads(inside("audit", spelling, "--format", "json", cwd=folder).stdout)
        found.add(tuple(finding["fingerprint"] for finding in report["findings"]))
    assert len(found) == 1
    assert len(next(iter(found))) == 1


def test_nameless_qemus_in_one_file_are_told_apart(folder: Path) -> None:
    line = "/usr/bin/qemu-system-x86_64 -m 512 -netdev tap,id=a -device rtl8139,netdev=a\n"
    path = folder / "q.txt"
    path.write_text(line * 3)
    report = json.loads(inside("audit", path, "--format", "json", cwd=folder).stdout)
    marks_ = [f["fingerprint"] for f in report["findings"] if f["rule"] == "VNIC001"]
    assert len(marks_) == len(set(marks_)) == 3
    path.write_text("# a comment\n" + line * 3)
    again = json.loads(inside("audit", path, "--format", "json", cwd=folder).stdout)
    assert [f["fingerprint"] for f in again["findings"] if f["rule"] == "VNIC001"] == marks_


def test_a_run_that_could_not_read_all_forgets_nothing_of_the_baseline(folder: Path) -> None:
    known = folder / "known.json"
    inside("audit", "guests", "--write-baseline", known, cwd=folder)
    before = json.loads(known.read_text())["fingerprints"]
    result = inside("audit", "gone", "--write-baseline", known, cwd=folder)
    assert result.returncode == 4
    assert "kept: some targets could not be read" in result.stderr
    assert json.loads(known.read_text())["fingerprints"] == before


@pytest.mark.parametrize(
    ("place", "format_"),
    [
        ("a.html", "html"), ("a.JSON", "json"), ("/x.y/a.xml", "junit"), ("a.md", "markdown"),
        ("a.dat", ""), ("json", ""), ("x.json/a", ""),
    ],
)  # fmt: skip
def test_a_suffix_tells_one_format_to_every_command(place: str, format_: str) -> None:
    assert format_of(place, ("html", "json", "junit", "markdown")) == format_


def test_a_suffix_of_a_format_that_there_is_elsewhere_is_no_text() -> None:
    with pytest.raises(UsageError, match=r"a\.html: the file name .* add --format \(json, text\)"):
        format_of("a.html", ("json", "text"))


@pytest.mark.parametrize("place", ["-", "gz", ".gz", "x.gz/a", "a.gz.json", "a.gzip.txt"])
def test_a_name_without_the_suffix_of_a_compressed_file(place: str) -> None:
    check_not_compressed(place)


@pytest.mark.parametrize("suffix", ["gz", "XZ", "bz2", "zst", "zip"])
def test_the_suffix_of_a_compressed_file_is_refused(suffix: str) -> None:
    with pytest.raises(UsageError, match=r"^x/a\.b\.[^:]+: .*: write x/a\.b, then compress it$"):
        check_not_compressed(f"x/a.b.{suffix}")
