"""``vnicaudit diff`` of reports that audits wrote."""

import csv
import io
import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.inside import inside
from tests.rows import rows

DOMAIN = """<domain type='kvm'><name>{name}</name><uuid>{uuid}</uuid><vcpu>1</vcpu>
<os><type arch='x86_64' machine='pc'>hvm</type></os>
<devices><interface type='bridge'><mac address='52:54:00:00:00:0{number}'/><source bridge='b'/>
<model type='{model}'/></interface></devices></domain>"""


def define(folder: Path, **models: str) -> None:
    """A definition for each guest, with one NIC of that model."""
    for number, (name, model) in enumerate(sorted(models.items())):
        uuid = f"00000000-0000-4000-8000-00000000000{number}"
        text = DOMAIN.format(name=name, uuid=uuid, number=number, model=model)
        (folder / f"{name}.xml").write_text(text)


@pytest.fixture
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with old.json and new.json: one guest was fixed, one was spoiled."""
    monkeypatch.chdir(tmp_path)
    guests = tmp_path / "guests"
    guests.mkdir()
    define(guests, fixed="rtl8139", same="rtl8139", spoiled="virtio")
    inside("audit", "guests", "-o", "old.json")
    define(guests, fixed="virtio", same="rtl8139", spoiled="e1000")
    inside("audit", "guests", "-o", "new.json")
    return tmp_path


def states(*arguments: str | Path) -> tuple[int, set[tuple[str, str]]]:
    """The exit code, and each finding on a model of a NIC with its state."""
    done = inside("diff", *arguments, "--format", "json")
    found = json.loads(done.stdout)["findings"]
    on_model = {"VNIC001", "VNIC002"}
    return done.returncode, {
        (one["state"], one["finding"]["about"]["name"])
        for one in found
        if one["finding"]["rule"] in on_model
    }


def test_new_gone_and_still_there(reports: Path) -> None:
    del reports
    expected = {("new", "spoiled"), ("gone", "fixed"), ("still", "same")}
    assert states("old.json", "new.json") == (1, expected)
    assert inside("diff", "old.json", "new.json", "--level", "never").returncode == 0
    assert inside("diff", "new.json", "new.json").returncode == 0


def test_what_was_not_read_again_is_not_gone(reports: Path) -> None:
    guest = reports / "guests/fixed.xml"
    guest.write_text(guest.read_text()[:-9])  # its last tag was not written
    inside("audit", "guests", "-o", "broken.json")
    code, found = states("old.json", "broken.json")
    assert code == 4
    assert ("unknown", "fixed") in found
    (reports / "elsewhere").mkdir()
    define(reports / "elsewhere", other="virtio")
    inside("audit", "elsewhere", "-o", "elsewhere.json")
    assert states("old.json", "elsewhere.json") == (
        4,
        {("unknown", "fixed"), ("unknown", "same")},
    )


def test_a_file_that_is_not_recognised_any_more_is_not_gone(reports: Path) -> None:
    (reports / "guests/fixed.xml").write_text("<html/>\n")
    (reports / "guests/same.xml").unlink()
    inside("audit", "guests", "-o", "other.json")
    expected = {("unknown", "fixed"), ("gone", "same"), ("new", "spoiled")}
    assert states("old.json", "other.json") == (4, expected)
    text = inside("diff", "old.json", "other.json").stdout
    assert "nothing in guests/fixed.xml was recognised: not judged" in " ".join(text.split())
    inside("audit", "guests", "--redact", "-o", "hidden.json")
    assert "fixed.xml" not in (reports / "hidden.json").read_text()


def test_a_definition_inside_a_quoted_text_is_not_gone(reports: Path) -> None:
    guest = reports / "guests/fixed.xml"
    guest.write_text(json.dumps({"guest": guest.read_text()}))
    inside("audit", "guests", "-o", "quoted.json")
    expected = {("unknown", "fixed"), ("still", "same"), ("new", "spoiled")}
    assert states("old.json", "quoted.json") == (4, expected)
    text = " ".join(inside("diff", "old.json", "quoted.json").stdout.split())
    assert "guests/fixed.xml holds domain XML inside a quoted string: not judged" in text


def test_a_part_that_was_not_judged_before_either_hides_nothing(reports: Path) -> None:
    part = {"message": "holds more: not judged", "file": "guests/fixed.xml", "line": 1}
    for name in ("old.json", "new.json"):
        report = json.loads((reports / name).read_text())
        report["targets"][0] |= {"not_judged": [part], "not_judged_count": 1}
        (reports / name).write_text(json.dumps(report))
    assert ("gone", "fixed") in states("old.json", "new.json")[1]


@pytest.mark.parametrize("number", ["unrecognised_count", "not_judged_count"])
def test_a_file_that_may_be_an_unnamed_one_is_not_gone(reports: Path, number: str) -> None:
    report = json.loads((reports / "new.json").read_text())
    report["targets"][0][number] = 10_001
    (reports / "many.json").write_text(json.dumps(report))
    expected = {("unknown", "fixed"), ("still", "same"), ("new", "spoiled")}
    assert states("old.json", "many.json") == (4, expected)
    done = json.loads(inside("diff", "old.json", "many.json", "--format", "json").stdout)
    assert done["notes"] == [
        "NEW does not name all files of guests that it did not judge (10,001 more): a finding in "
        "a file that NEW does not name counts as not judged again"
    ]
    for finding in report["findings"]:  # the file is named now: it was read
        finding["location"]["file"] = "guests/fixed.xml"
    (reports / "many.json").write_text(json.dumps(report))
    assert ("gone", "fixed") in states("old.json", "many.json")[1]


def test_what_is_suppressed_is_accepted(reports: Path) -> None:
    (reports / "vnicaudit.toml").write_text(
        "[[suppress]]\nrule = 'VNIC001'\ndomain = 'fixed'\nreason = 'r'\nuntil = 2999-01-01\n"
    )
    define(reports / "guests", fixed="rtl8139", same="rtl8139", spoiled="virtio")
    inside("audit", "guests", "-o", "accepted.json")
    assert states("old.json", "accepted.json") == (0, {("accepted", "fixed"), ("still", "same")})


def test_what_was_not_judged_again_is_told_whatever_the_level(reports: Path) -> None:
    (reports / "guests/same.xml").unlink()
    (reports / "guests/fixed.xml").write_text("<domain")
    inside("audit", "guests", "guests/same.xml", "-o", "part.json")
    for options in ((), ("--level", "error"), ("--level", "never")):
        done = inside("diff", "old.json", "part.json", *options)
        assert done.returncode == 4
        assert "not judged again" in done.stdout


@pytest.mark.parametrize("by", ["--level", "--owner", "--baseline"])
def test_what_the_newer_report_leaves_out_is_not_gone(reports: Path, by: str) -> None:
    define(reports / "guests", fixed="rtl8139", same="rtl8139", spoiled="virtio")
    inside("audit", "guests", "--write-baseline", "known.json")
    value = {"--level": "error", "--owner": "nova"}
    inside("audit", "guests", by, value.get(by, "known.json"), "-o", "less.json")
    summary = json.loads((reports / "less.json").read_text())["summary"]
    number = summary["filtered"] + summary["baselined"]
    assert number > 1
    assert states("old.json", "less.json") == (4, {("unknown", "fixed"), ("unknown", "same")})
    note = json.loads(inside("diff", "old.json", "less.json", "--format", "json").stdout)["notes"]
    assert note == [
        "NEW was made with a filter (--level, --owner, --domain, --nic) or a baseline: "
        f"{number} of its findings are not in it"
    ]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--ignore", "VNIC001"), "VNIC001 did not run for NEW (--select, --ignore)"),
        (("--exclude", "fixed.*", "--exclude", "guests/same.xml"), "(--exclude "),
    ],
)
def test_what_the_newer_report_was_not_asked_for_is_not_gone(
    reports: Path, arguments: tuple[str, ...], reason: str
) -> None:
    define(reports / "guests", fixed="rtl8139", same="rtl8139", spoiled="virtio")
    inside("audit", "guests", *arguments, "-o", "less.json")
    assert states("old.json", "less.json") == (4, {("unknown", "fixed"), ("unknown", "same")})
    found = json.loads(inside("diff", "old.json", "less.json", "--format", "json").stdout)
    assert all(reason in one["reason"] for one in found["findings"] if one["state"] == "unknown")


@rows
def test_what_was_judged_for_another_release_is_not_gone(
    reports: Path, option: str, value: str, shown: str
) -> None:
    del reports
    inside("audit", "guests", option, value, "-o", "other.json")
    expected = {("unknown", "fixed"), ("still", "same"), ("new", "spoiled")}
    assert states("old.json", "other.json") == (4, expected)
    found = json.loads(inside("diff", "old.json", "other.json", "--format", "json").stdout)
    (one,) = (
        one
        for one in found["findings"]
        if one["finding"]["about"]["name"] == "fixed"
        and one["state"] == "unknown"
        and one["finding"]["rule"] == "VNIC001"
    )
    assert one["reason"] == f"judged for another release ({option}: OLD without, NEW {shown})"
    inside("audit", "guests", option, value, "-o", "again.json")
    assert inside("diff", "other.json", "again.json").returncode == 0


def test_a_named_file_that_was_passed_over_is_not_gone(reports: Path) -> None:
    guest = reports / "guests/same.xml"
    inside("audit", guest, "-o", "before.json")
    guest.write_text("no definition\n")
    inside("audit", guest, "--skip-unrecognised", "-o", "after.json")
    assert states("before.json", "after.json") == (4, {("unknown", "same")})


def test_a_configuration_without_a_finding_is_gone(reports: Path) -> None:
    config = reports / "nova.conf"
    for value, report in (("300", "before.json"), ("512", "after.json")):
        config.write_text(f"[libvirt]\nrx_queue_size = {value}\n")
        inside("audit", config, "--skip-unrecognised", "--select", "VNIC035", "-o", report)
    done = inside("diff", "before.json", "after.json", "--format", "json")
    assert done.returncode == 0
    assert [one["state"] for one in json.loads(done.stdout)["findings"]] == ["gone"]


def test_a_rule_that_did_not_run_before_is_new_and_says_so(reports: Path) -> None:
    del reports
    inside("audit", "guests", "--ignore", "VNIC002", "-o", "less.json")
    code, found = states("less.json", "new.json")
    assert (code, found) == (1, {("new", "spoiled"), ("still", "same")})
    done = json.loads(inside("diff", "less.json", "new.json", "--format", "json").stdout)
    (new,) = (one for one in done["findings"] if one["state"] == "new")
    assert new["reason"] == "VNIC002 did not run for OLD (--select, --ignore)"
    assert done["notes"] == ["OLD did not run 1 rule of the other report: VNIC002"]


def test_only_files_that_changed(reports: Path) -> None:
    def git(*words: str) -> None:
        who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
        subprocess.run(["git", *who, *words], check=True, capture_output=True)

    git("init", "-q")
    git("add", "guests")
    git("commit", "-qm", "all")
    guest = reports / "guests/spoiled.xml"
    guest.write_text(guest.read_text() + "\n")
    inside("audit", "guests", "--changed-since", "HEAD", "-o", "less.json")
    assert states("new.json", "less.json") == (4, {("unknown", "same"), ("still", "spoiled")})


def test_a_report_of_an_older_release_is_compared_as_it_is(reports: Path) -> None:
    for name in ("old.json", "new.json"):
        report = json.loads((reports / name).read_text())
        del report["request"]
        (reports / name).write_text(json.dumps(report))
    assert states("old.json", "new.json")[1] == {
        ("new", "spoiled"), ("gone", "fixed"), ("still", "same"),
    }  # fmt: skip


@pytest.mark.parametrize("width", ["60", "100"])
def test_it_fits_the_terminal(reports: Path, width: str) -> None:
    del reports
    text = inside("diff", "old.json", "new.json", "-v", env={"COLUMNS": width}).stdout
    assert max(map(len, text.splitlines())) <= int(width)


def test_worse_is_as_bad_as_new(reports: Path) -> None:
    report = json.loads((reports / "new.json").read_text())
    for one in report["findings"]:
        one["severity"] = "info"
    (reports / "milder.json").write_text(json.dumps(report))
    done = inside("diff", "milder.json", "new.json")
    assert done.returncode == 1
    assert "worse than before" in done.stdout.splitlines()[0]


@rows
def test_findings_with_one_fingerprint_are_compared_by_severity(
    reports: Path, old: str, new: str, expected: dict[str, int]
) -> None:
    report = json.loads((reports / "old.json").read_text())
    (one, *_others) = report["findings"]
    for name, severities in (("old.json", old), ("new.json", new)):
        report["findings"] = [one | {"severity": each} for each in severities.split()]
        (reports / name).write_text(json.dumps(report))
    done = inside("diff", "old.json", "new.json", "--format", "json")
    counts = json.loads(done.stdout)["counts"]
    assert {state: number for state, number in counts.items() if number} == expected
    assert done.returncode == ("worse" in expected)


def test_text_csv_and_markdown(reports: Path) -> None:
    text = inside("diff", "old.json", "new.json").stdout
    assert "\nNew:\n" in text
    assert "\nStill there:\n" not in text
    assert "\nStill there:\n" in inside("diff", "old.json", "new.json", "-v").stdout
    inside("diff", "old.json", "new.json", "-o", "change.csv")
    rows = list(csv.DictReader(io.StringIO((reports / "change.csv").read_text())))
    assert {row["state"] for row in rows} == {"new", "gone", "still"}
    assert (
        "New\n\n| severity |"
        in inside("diff", "old.json", "new.json", "--format", "markdown").stdout
    )


@rows
def test_a_file_that_is_no_report(reports: Path, text: str) -> None:
    (reports / "no.json").write_text(text)
    done = inside("diff", "old.json", "no.json")
    assert done.returncode == 2
    assert "no.json: not " in done.stderr


@pytest.mark.parametrize("schema", ["vnicaudit.plan/1", "vnicaudit.nics/1"])
def test_another_document_is_named(reports: Path, schema: str) -> None:
    (reports / "no.json").write_text(json.dumps({"schema": schema, "tool": "vnicaudit"}))
    done = inside("diff", "no.json", "new.json")
    assert done.returncode == 2
    wanted = "diff compares reports of `vnicaudit audit --format json`"
    assert done.stderr == f"Error: no.json is a {schema} document; {wanted}\n"
    (reports / "no.json").write_text('{"schema": "vnicaudit.report/2"}')
    assert (
        "no.json: not a vnicaudit.report/1 report: " in inside("diff", "no.json", "new.json").stderr
    )
    (reports / "no.json").write_text("<domain/>")
    assert inside("diff", "new.json", "no.json").stderr.endswith(f"; {wanted}\n")


def test_a_report_is_not_compared_with_a_stored_audit(reports: Path) -> None:
    del reports
    for words in (("old.json", "latest"), ("latest", "old.json")):
        done = inside("diff", *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == (
            "Error: latest: no such file; compare two reports, or two stored audits\n"
        )
