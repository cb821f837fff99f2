"""``vnicaudit.baseline/1`` as it is written along with an audit."""

import json
from pathlib import Path

import msgspec

from tests.audit.accepting.test_baseline import CREATED, finding
from vnicaudit.audit.accepting.baseline import BaselineFile, load_baseline
from vnicaudit.model.finding import Finding, Skipped
from vnicaudit.model.report import Audited, RunEnd, RunInfo, Summary, TargetResult, Tool
from vnicaudit.reports.json_parts import BaselineWriter

READ = RunEnd(CREATED, (), Summary())


def written(*findings: Finding, place: str = "", end: RunEnd = READ) -> str:
    """The document for a run with one domain per finding."""
    writer = BaselineWriter(place)
    pieces = [writer.start(RunInfo(Tool("vnicaudit", "1"), CREATED, tuple))]
    pieces += [writer.add(Audited("lab", "web", findings=(item,))) for item in findings]
    pieces += writer.finish(end)
    return "".join(pieces)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    path.write_text(written(finding("aa", name="web"), finding("bb", name="db")))
    assert load_baseline(str(path)) == {"aa": "high", "bb": "high"}
    assert msgspec.json.decode(path.read_bytes(), type=BaselineFile).created == CREATED


def test_each_fingerprint_is_a_line_that_people_and_diff_can_read() -> None:
    text = written(
        finding("aa", name='a "b"\n', mac="52:54:00:00:00:01", index=3),
        finding("bb", name="db", index=0),
        finding("aa", name="again"),
        finding("cc", "VNIC060"),
    )
    assert text == (
        "{\n"
        '  "schema": "vnicaudit.baseline/1",\n'
        f'  "created": "{CREATED}",\n'
        '  "fingerprints": {\n'
        '    "aa": {"rule":"VNIC001","severity":"high","domain":"a \\"b\\"\\n",'
        '"nic":"52:54:00:00:00:01"},\n'
        '    "bb": {"rule":"VNIC001","severity":"high","domain":"db","nic":"#0"},\n'
        '    "cc": {"rule":"VNIC060","severity":"high","domain":null,"nic":null}\n'
        "  }\n"
        "}\n"
    )


def test_of_findings_with_one_fingerprint_the_most_severe_is_written(tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    some = (finding("aa", severity="low"), finding("bb"), finding("aa", severity="medium"))
    path.write_text(written(*some, finding("aa", severity="info")))
    assert list(load_baseline(str(path)).items()) == [("aa", "medium"), ("bb", "high")]


def test_a_partial_run_keeps_the_more_severe_of_one_fingerprint(tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    path.write_text(written(finding("aa", severity="low"), finding("aa")))
    partial = RunEnd(CREATED, (TargetResult("lab", "partial"),), Summary())
    path.write_text(written(finding("aa", severity="low"), place=str(path), end=partial))
    assert load_baseline(str(path)) == {"aa": "high"}


def test_what_was_not_judged_stays_known(tmp_path: Path) -> None:
    """A guest that is off tonight has no QEMU to judge: tomorrow it is not new."""
    path = tmp_path / "known.json"
    of_running = finding("aa", "VNIC020", name="web")
    path.write_text(written(of_running, finding("bb", name="web"), finding("cc", "VNIC020")))
    writer = BaselineWriter(str(path))
    pieces = [writer.start(RunInfo(Tool("vnicaudit", "1"), CREATED, tuple))]
    skipped = Skipped("VNIC020", of_running.about, "needs the running QEMU")
    pieces += [writer.add(Audited("lab", "web", skipped=(skipped,)))]
    path.write_text("".join([*pieces, *writer.finish(READ)]))
    assert load_baseline(str(path)) == {"aa": "high"}


def test_a_run_without_findings_gives_an_empty_baseline() -> None:
    assert json.loads(written())["fingerprints"] == {}


def test_findings_about_suppressions_are_left_out() -> None:
    text = written(finding("aa", "SUPP001"), finding("bb"), finding("cc", "SUPP003"))
    assert list(json.loads(text)["fingerprints"]) == ["bb"]
