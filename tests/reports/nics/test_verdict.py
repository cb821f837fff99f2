"""Marks, totals and CSV of a list of NICs."""

import csv
import io

import pytest
from msgspec.structs import replace

from tests.reports.nics.samples import EMPTY, ODD, WEB
from vnicaudit.audit.judging.domains import nic_row
from vnicaudit.model.nic import NONE, UNKNOWN, Resolved
from vnicaudit.model.report import NicRow
from vnicaudit.reports.nics import csv as nics_csv
from vnicaudit.reports.nics.text import Verdict, kind_of, render, verdict_of
from vnicaudit.reports.writers import Options

PLAIN: NicRow = replace(
    nic_row(WEB, WEB.nics[1]),
    tx_queue_size=Resolved(None, 256, ""),
    vhost=Resolved(None, True, ""),
)
NOTHING: Resolved[bool] = Resolved(None, None, "", NONE)
NOBODY_KNOWS: Resolved[bool] = Resolved(True, None, "", UNKNOWN)


@pytest.mark.parametrize(
    ("nic", "verdict"),
    [
        (PLAIN, "ok"),
        (replace(PLAIN, vhost=NOBODY_KNOWS), "ok"),
        (replace(PLAIN, vhost=NOTHING), "ok"),
        (replace(PLAIN, vhost=Resolved(None, False, "")), "less"),
        (replace(PLAIN, queues=Resolved(8, 4, "")), "less"),
        (replace(PLAIN, tx_queue_size=Resolved(1024, 256, "")), "less"),
        (replace(PLAIN, model=Resolved(None, "rtl8139", "")), "slow"),
        (replace(PLAIN, starts=False), "slow"),
        (replace(PLAIN, model=Resolved(None, None, "", NONE)), "slow"),
        (replace(PLAIN, type="hostdev", model=Resolved(None, None, "", NONE)), "ok"),
        (replace(PLAIN, model=Resolved(None, None, "", UNKNOWN)), "ok"),
    ],
)
def test_the_mark_of_a_nic(nic: NicRow, verdict: Verdict) -> None:
    assert verdict_of(nic) == verdict


def test_the_kind_of_a_nic() -> None:
    assert kind_of(PLAIN) == "virtio"
    assert kind_of(replace(PLAIN, model=Resolved(None, "e1000", ""))) == "emulated"
    none = replace(PLAIN, model=Resolved(None, None, "", NONE))
    assert kind_of(none) == "not created"
    assert kind_of(replace(none, type="hostdev")) == "passed through"
    assert kind_of(replace(none, type="network", actual_type=None)) == "passed through"
    assert kind_of(replace(PLAIN, model=Resolved(None, None, "", UNKNOWN))) == "of unknown model"


def test_totals_and_what_the_marks_mean() -> None:
    text = "".join(render([WEB, ODD], Options(width=100)))
    assert "\n3 NICs in 2 domains: 2 emulated, 1 virtio\n" in text
    assert "\nx 0 " in text
    assert "\n! 1 " in text
    assert text.splitlines()[-1].startswith("x emulated, or does not start; ! ")


def test_a_place_where_there_are_several() -> None:
    text = "".join(render([WEB], Options(width=200), places=True))
    assert f", {WEB.location.file or WEB.location.target}\n" in text


def test_csv() -> None:
    text = "".join(nics_csv.render([WEB, EMPTY, ODD]))
    head, *rows = csv.reader(io.StringIO(text))
    assert tuple(head) == nics_csv.COLUMNS
    assert [row[head.index("verdict")] for row in rows] == ["slow", "less", "slow"]
    assert [row[head.index("vhost_effective")] for row in rows] == ["false", "", "false"]
    assert rows[1][head.index("tx_queue_size_declared")] == "1024"
    assert head[-1] == "source"
