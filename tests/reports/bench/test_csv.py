"""One line per run and metric."""

import csv
import io

from tests.reports.bench.golden import expected, written
from tests.reports.bench.samples import hostile, single_flip, two_arms


def test_the_whole_file() -> None:
    assert written("csv", single_flip()) == expected("single-flip.csv")


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_runs_that_do_not_count_are_there_and_say_why() -> None:
    lines = [line for line in table(written("csv", two_arms())) if line["valid"] == "false"]
    assert [(line["arm"], line["metric"], line["value"], line["reason"]) for line in lines] == [
        ("after", "goodput", "120000000.0", "target steal 3.1 % of the run, above 2 %"),
        ("after", "goodput", "120000000.0", "target steal 3.1 % of the run, above 2 %"),
        ("before", "", "", "the generator was the limit"),
    ]


def test_numbers_come_back_as_they_were() -> None:
    values = {
        (line["order"], line["metric"]): float(line["value"])
        for line in table(written("csv", two_arms()))
        if line["valid"] == "true"
    }
    for sample in two_arms().samples:
        if sample.valid:
            for metric, value in sample.values.items():
                assert values[str(sample.order), metric] == value


def test_no_cell_is_calculated() -> None:
    for line in table(written("csv", hostile("=1+1"))):
        assert line["engine"] == "'=1+1"
