"""Which findings are reported."""

import pytest
from msgspec.structs import replace

from tests.reports.samples import LEGACY, LIVE, PLAIN, WEB_01, WHOLE
from vnicaudit.audit.accepting.baseline import NO_FILTER, FindingFilter
from vnicaudit.model.finding import Finding

ALL = replace(WEB_01, findings=(LEGACY, PLAIN, WHOLE, LIVE))


@pytest.mark.parametrize(
    ("shown", "left"),
    [
        (FindingFilter("high"), (LEGACY, LIVE)),
        (FindingFilter(confidence="high"), (LEGACY, WHOLE, LIVE)),
        (FindingFilter(confidence="medium"), (LEGACY, PLAIN, WHOLE, LIVE)),
        (FindingFilter(owners=frozenset({"nova"})), (LIVE,)),
        (FindingFilter("high", owners=frozenset({"libvirt"})), (LEGACY,)),
        (FindingFilter(domains=frozenset({"web-01"})), (LEGACY, PLAIN, WHOLE, LIVE)),
        (FindingFilter(domains=frozenset({"other"})), ()),
        (FindingFilter(nics=frozenset({str(LEGACY.about.mac)})), (LEGACY,)),
    ],
)
def test_what_is_kept_and_how_many_are_not(shown: FindingFilter, left: tuple[Finding, ...]) -> None:
    found = shown.apply(ALL)
    assert found.findings == left
    assert found.filtered == len(ALL.findings) - len(left)


def test_no_filter_is_none() -> None:
    assert not NO_FILTER
    assert NO_FILTER.apply(ALL) is ALL
