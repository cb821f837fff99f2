"""vnicaudit.nics/1."""

import msgspec
import pytest

from tests.reports.nics.samples import EMPTY, LEGACY, ODD, WEB
from vnicaudit.model.nic import Resolved
from vnicaudit.model.report import NicsReport
from vnicaudit.reports.nics.json import render
from vnicaudit.reports.writers import Options


def test_every_nic_is_a_row_with_both_sides_and_the_reason() -> None:
    text = "".join(render(iter([WEB, EMPTY, ODD]), Options()))
    report = msgspec.json.decode(text, type=NicsReport)
    assert [(nic.domain, nic.index) for nic in report.nics] == [
        ("web-01", 0), ("web-01", 1), ("odd\x1b[2J", 0),
    ]  # fmt: skip
    first = report.nics[0]
    assert (first.type, first.actual_type, first.active) == ("network", None, True)
    assert (first.arch, first.machine, first.vcpus) == ("x86_64", "pc-q35-9.2", 4)
    assert first.model == Resolved(
        None, "rtl8139", "no model declared: libvirt's default on x86_64 q35"
    )
    assert first.rx_queue_size.state == "none"
    assert (report.nics[2].starts, report.nics[2].active) == (False, None)
    assert "\x1b" not in text


def test_no_domains_is_an_empty_list() -> None:
    text = "".join(render([], Options()))
    assert msgspec.json.decode(text, type=NicsReport).nics == ()


def test_a_nic_that_was_not_resolved_is_a_mistake_of_the_caller() -> None:
    raw = msgspec.structs.replace(WEB, nics=(msgspec.structs.replace(LEGACY, effective=None),))
    with pytest.raises(ValueError, match="NIC 0 of 'web-01' has not been resolved"):
        list(render([raw], Options()))
