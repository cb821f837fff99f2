"""vnicaudit.report/1."""

import json

import msgspec

from tests.reports.samples import (
    CLEAN,
    END,
    LIVE,
    NOVA,
    OK_END,
    START,
    STREAM,
    WEB_UUID,
    finding,
    written,
)
from vnicaudit.model.finding import Location
from vnicaudit.reports.report_file import (
    Options,
    Report,
    written_crash,
    written_finding,
    written_skip,
    written_suppressed,
)


def test_the_report_reads_back_as_the_record_it_stands_for() -> None:
    report = msgspec.json.decode(written("json"), type=Report)
    assert report == Report(
        tool=START.tool,
        started=START.started,
        finished=END.finished,
        targets=END.targets,
        findings=tuple(
            written_finding(one, audited.subject) for audited in STREAM for one in audited.findings
        ),
        skipped=tuple(written_skip(one) for audited in STREAM for one in audited.skipped),
        crashed=tuple(map(written_crash, NOVA.crashed)),
        suppressed=tuple(
            written_suppressed(one, audited.subject)
            for audited in STREAM
            for one in audited.suppressed
        ),
        summary=END.summary,
    )


def test_an_empty_run_is_valid_too() -> None:
    report = msgspec.json.decode(written("json", stream=[CLEAN], end=OK_END), type=Report)
    assert (report.findings, report.skipped, report.crashed, report.suppressed) == ((), (), (), ())


def test_the_words_of_the_format() -> None:
    report = json.loads(written("json"))
    assert report["schema"] == "vnicaudit.report/1"
    assert list(report["findings"][3]) == [
        "rule", "name", "severity", "confidence", "message", "nic", "location", "owner",
        "change", "fingerprint", "fix", "related", "fixes",
        "subject", "fixable", "docs_url",
    ]  # fmt: skip
    assert report["findings"][3]["nic"] == {
        "domain": "instance-0000002a",
        "uuid": None,
        "mac": "fa:16:3e:10:20:30",
        "index": 0,
        "target_dev": "tap1f2e3d4c-5b",
    }
    assert report["targets"][2]["status"] == "failed"
    assert report["targets"][2]["error"] == "no answer within 30 s"


def test_one_finding_per_line() -> None:
    lines = written("json").splitlines()
    assert sum(line.startswith('{"rule":"VNIC') for line in lines) == 8


def test_a_file_name_in_another_encoding_does_not_stop_the_report() -> None:
    odd = finding(location=Location("d", "d/latin1-\udce9.xml", 3))
    stream = [msgspec.structs.replace(CLEAN, findings=(odd, LIVE))]
    report = msgspec.json.decode(written("json", stream=stream), type=Report)
    assert report.findings[0].location.file == "d/latin1-\\xe9.xml"
    assert report.findings[1] == written_finding(LIVE, CLEAN.subject)


def test_a_finding_names_its_subject_its_page_and_who_can_fix_it() -> None:
    url = "https://docs.example.org/vnic"
    findings = json.loads(written("json", Options(docs_url=url)))["findings"]
    legacy, plain = findings[:2]
    assert legacy["subject"] == {
        "kind": "nic", "name": "web-01/NIC 0", "id": f"{WEB_UUID}/52:54:00:6b:3c:58",
    }  # fmt: skip
    assert (legacy["fixable"], plain["fixable"]) == ("unsafe", "safe")
    assert legacy["docs_url"] == f"{url}/rules/VNIC001.html"
    assert {one["docs_url"] for one in json.loads(written("json"))["findings"]} == {None}


def test_a_report_of_an_older_release_is_read() -> None:
    report = json.loads(written("json"))
    for one in (*report["findings"], *(each["finding"] for each in report["suppressed"])):
        del one["subject"], one["fixable"], one["docs_url"]
    read = msgspec.json.decode(json.dumps(report), type=Report)
    assert read.findings[0].subject is None
