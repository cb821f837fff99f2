"""CSV: stable columns, no formulas."""

import csv

import msgspec

from tests.reports.samples import CLEAN, OK_END, WEB_01, finding, written
from vnicaudit.model.finding import Ref

HEADER = (
    '"rule","name","severity","confidence","domain","uuid","nic","mac","target_dev","owner",'
    '"target","file","line","message","fix","fix_safe","fingerprint"\n'
)


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def test_the_columns_are_a_promise() -> None:
    assert written("csv", stream=[CLEAN], end=OK_END) == HEADER


def test_a_name_cannot_be_a_formula_or_a_second_line() -> None:
    nic = Ref("nic", '=HYPERLINK("http://e.example")\n', None, "@x", 0, "-1")
    stream = [msgspec.structs.replace(WEB_01, findings=(finding(about=nic),))]
    [row] = rows(written("csv", stream=stream))
    assert row["domain"] == '\'=HYPERLINK("http://e.example")\\n'
    assert (row["mac"], row["target_dev"]) == ("'@x", "'-1")
