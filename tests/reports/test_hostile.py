"""Whatever names, messages and paths contain, every format stays what it is."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import jsonschema
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree
from markdown_it import MarkdownIt
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tests.reports.page.decoded import check_markup, decoded
from tests.reports.samples import END, START
from tests.shares import examples
from vnicaudit.model.finding import (
    SEVERITIES,
    Change,
    Crashed,
    Finding,
    Location,
    Ref,
    Skipped,
    owner_named,
)
from vnicaudit.model.report import (
    Audited,
    ReadError,
    Report,
    RunEnd,
    Suppressed,
    TargetResult,
)
from vnicaudit.reports.formats import formats, writer
from vnicaudit.reports.writers import Options

DATA = Path(__file__).parent / "data"
NASTY = (
    "\x00\x07\x1b\x7f\x9b\n\r\t\u2028\u202e\u200b\ufeff\ufffe\udce9\ud800"
    "|`<>[]()*_~&$#@%:,;=+-\"'\\/"
)
TEXT = st.text(st.one_of(st.sampled_from(NASTY), st.characters(exclude_categories=())), max_size=12)
LINE = st.none() | st.integers(1, 10**6)
PLACE = st.builds(Location, TEXT, st.none() | TEXT, LINE, st.none() | TEXT)
NIC = st.builds(
    Ref, st.just("nic"), TEXT, st.none() | TEXT, st.none() | TEXT,
    st.none() | st.integers(0, 9999), st.none() | TEXT,
)  # fmt: skip
MAYBE = st.none() | TEXT
OWNER = TEXT.map(owner_named)
ABOUT = st.one_of(
    NIC,
    st.builds(Ref, st.just("domain"), TEXT, MAYBE),
    st.builds(Ref, st.just("image"), MAYBE, MAYBE),
    st.builds(Ref, st.just("preference"), MAYBE),
    st.just(Ref("host")),
)
CHANGE = st.builds(Change, TEXT, st.none() | TEXT, st.none() | TEXT, st.booleans(), TEXT)
FINDING = st.builds(
    Finding, st.just("VNIC001"), TEXT, st.sampled_from(SEVERITIES),
    st.sampled_from(["low", "medium", "high"]), TEXT, ABOUT, PLACE, OWNER, st.none() | CHANGE, TEXT,
    TEXT,
)  # fmt: skip
AUDITED = st.builds(
    Audited,
    target=TEXT,
    subject=TEXT,
    uuid=st.none() | TEXT,
    owner=OWNER,
    scope=st.sampled_from(["domain", "host", "config"]),
    nics=st.integers(0, 9),
    findings=st.lists(FINDING, max_size=2).map(tuple),
    skipped=st.lists(st.builds(Skipped, st.just("VNIC2"), ABOUT, TEXT), max_size=2).map(tuple),
    crashed=st.lists(st.builds(Crashed, st.just("VNIC3"), ABOUT, TEXT), max_size=2).map(tuple),
    suppressed=st.lists(st.builds(Suppressed, FINDING, TEXT, TEXT), max_size=1).map(tuple),
)
ERROR = st.builds(ReadError, TEXT, st.none() | TEXT, LINE)
TARGET = st.builds(
    lambda name, errors: TargetResult(name, "partial", "x", 1, 1, tuple(errors), len(errors)),
    TEXT,
    st.lists(ERROR, min_size=1, max_size=2),
)
STREAM = st.lists(AUDITED, max_size=3)
many = settings(
    max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def report(name: str, stream: list[Audited], target: TargetResult, options: Options) -> str:
    """A whole report, and a check of what holds for all: UTF-8, and nothing unprintable."""
    one = writer(name, options)
    end = RunEnd(END.finished, (target,), END.summary)
    pieces = [one.start(START), *map(one.add, stream), *one.finish(end)]
    text = "".join(pieces)
    text.encode("utf-8")
    for line in text.split("\n"):
        assert line.isprintable(), ascii(line)
    return text


def _html(text: str, stream: list[Audited]) -> None:
    check_markup(text)
    findings = decoded(text).tables["finding"]
    assert len(findings["rule"]) == sum(len(audited.findings) for audited in stream)


def _json(text: str, stream: list[Audited]) -> None:
    read = msgspec.json.decode(text, type=Report)
    assert len(read.findings) == sum(len(audited.findings) for audited in stream)


def _sarif(text: str, stream: list[Audited]) -> None:
    log = json.loads(text)
    SARIF.validate(log)
    results = sum(len(audited.findings) + len(audited.suppressed) for audited in stream)
    assert len(log["runs"][0]["results"]) == results


def _junit(text: str, stream: list[Audited]) -> None:
    root = etree.fromstring(text.encode())
    JUNIT.assertValid(root)
    failures = sum(1 for _ in root.iter("failure"))
    findings = [finding for audited in stream for finding in audited.findings]
    assert failures == sum(finding.confidence != "low" for finding in findings)


def _csv(text: str, stream: list[Audited]) -> None:
    rows = list(csv.reader(text.splitlines()))
    assert len(rows) == 1 + sum(len(audited.findings) for audited in stream)
    assert {len(row) for row in rows} == {17}
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row)


def _github(text: str, stream: list[Audited]) -> None:
    lines = text.splitlines()
    for line in lines:
        assert re.match(r"::(error|warning|notice) [^:]+::", line), line
    found = sum(len(audited.findings) + len(audited.crashed) for audited in stream)
    assert found < len(lines) <= found + 3


def _gitlab(text: str, stream: list[Audited]) -> None:
    entries = json.loads(text)
    found = sum(len(audited.findings) + len(audited.crashed) for audited in stream)
    assert found < len(entries) <= found + 2
    for entry in entries:
        assert entry.keys() == {"description", "check_name", "fingerprint", "severity", "location"}
        assert isinstance(entry["location"]["path"], str)
        assert entry["location"]["lines"]["begin"] >= 1


def _prometheus(text: str, stream: list[Audited]) -> None:
    families = text_string_to_metric_families(f"{text}# EOF\n")  # type: ignore[no-untyped-call]
    values = {family.name: sum(sample.value for sample in family.samples) for family in families}
    assert values["vnicaudit_findings"] == sum(len(audited.findings) for audited in stream)


def _markdown(text: str, stream: list[Audited]) -> None:
    html = MARKDOWN.render(text)
    assert "<a " not in html
    assert "<img" not in html
    found = sum(len(audited.findings) + len(audited.crashed) for audited in stream)
    assert html.count("<td>") == 5 * found


def _concise(text: str, stream: list[Audited]) -> None:
    lines = re.findall(r": (?:info|low|medium|high|error) VNIC001 ", text)
    assert len(lines) >= sum(len(audited.findings) for audited in stream)


def _text(text: str, stream: list[Audited]) -> None:
    heads = re.findall(r"^  (?:info|low|medium|high|error) +VNIC001\b", text, re.MULTILINE)
    assert len(heads) >= sum(len(audited.findings) for audited in stream)


CHECKS: dict[str, Callable[[str, list[Audited]], None]] = {
    "concise": _concise,
    "csv": _csv,
    "github": _github,
    "gitlab": _gitlab,
    "html": _html,
    "json": _json,
    "junit": _junit,
    "markdown": _markdown,
    "prometheus": _prometheus,
    "sarif": _sarif,
    "text": _text,
}
SARIF = jsonschema.Draft4Validator(json.loads((DATA / "sarif-schema-2.1.0.json").read_text()))
JUNIT = etree.XMLSchema(etree.parse(str(DATA / "junit-10.xsd")))
MARKDOWN = MarkdownIt("commonmark").enable("table")


def test_every_format_has_a_check() -> None:
    assert CHECKS.keys() == set(formats())


@pytest.mark.parametrize("name", formats())
@many
@given(stream=STREAM, target=TARGET, verbose=st.booleans(), width=st.integers(20, 200))
def test_the_report_stays_parseable(
    name: str, stream: list[Audited], target: TargetResult, verbose: bool, width: int
) -> None:
    text = report(name, stream, target, Options(width=width, verbose=verbose))
    CHECKS[name](text, stream)
