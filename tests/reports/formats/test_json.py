"""vnicaudit.report/1."""

import msgspec

from tests.reports.samples import (
    CLEAN,
    END,
    LIVE,
    NOVA,
    OK_END,
    START,
    STREAM,
    finding,
    written,
)
from vnicaudit.model.finding import Location
from vnicaudit.model.report import Report


def test_the_report_reads_back_as_the_record_it_stands_for() -> None:
    report = msgspec.json.decode(written("json"), type=Report)
    assert report == Report(
        tool=START.tool,
        started=START.started,
        finished=END.finished,
        targets=END.targets,
        findings=tuple(one for audited in STREAM for one in audited.findings),
        skipped=tuple(one for audited in STREAM for one in audited.skipped),
        crashed=NOVA.crashed,
        suppressed=tuple(one for audited in STREAM for one in audited.suppressed),
        summary=END.summary,
    )


def test_an_empty_run_is_valid_too() -> None:
    report = msgspec.json.decode(written("json", stream=[CLEAN], end=OK_END), type=Report)
    assert (report.findings, report.skipped, report.crashed, report.suppressed) == ((), (), (), ())


def test_a_file_name_in_another_encoding_does_not_stop_the_report() -> None:
    odd = finding(location=Location("d", "d/latin1-\udce9.xml", 3))
    stream = [msgspec.structs.replace(CLEAN, findings=(odd, LIVE))]
    report = msgspec.json.decode(written("json", stream=stream), type=Report)
    assert report.findings[0].location.file == "d/latin1-\\xe9.xml"
    assert report.findings[1] == LIVE
