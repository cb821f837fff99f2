"""What the history adds to a plan, in words."""

import pytest
from msgspec.structs import replace

from tests.regressions.hostile_input.growth import MOST, ratio
from tests.reports.plan.samples import EMPTY
from tests.reports.plan.test_by_change import step_on
from vnicaudit.model.ranking import GainEstimate, LastReading, PlanHistory, StepHistory, UnreadHost
from vnicaudit.reports.plan.text import render
from vnicaudit.reports.writers import Options

GAIN = GainEstimate(workload="bulk", metric="throughput", measurements=1, percent=104.0)


def rendered(history: PlanHistory, steps: int = 2, *, verbose: bool = False) -> list[str]:
    """The lines of a plan of equal steps."""
    made = tuple(step_on(number) for number in range(1, steps + 1))
    plan = replace(EMPTY, targets=(), steps=made)
    options = Options(width=200, group_by="change", verbose=verbose)
    return "".join(render(plan, options, history)).splitlines()


def last(host: str, findings: int) -> LastReading:
    """A host that was read once."""
    return LastReading(
        host=host, read_at="2026-11-20T10:00:00Z", domains=1, nics=2, findings=findings,
        rules=frozenset(),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (None, None, None),
        (StepHistory(1, 1, 0, "2026-09-14T08:00:00Z"), None, "first seen 2026-09-14"),
        (
            StepHistory(1, 1, 0, "2026-09-14T08:00:00Z"),
            StepHistory(1),
            "1 known finding, first seen 2026-09-14",
        ),
        (StepHistory(1, new=1), None, "1 of 1 finding not in the last audit"),
        (
            StepHistory(2, 1, 1, "2026-09-14T08:00:00Z"),
            StepHistory(3, 2, 1, "2026-02-01T08:00:00Z"),
            "oldest of 3 known findings first seen 2026-02-01; 2 not in the last audit",
        ),
        (StepHistory(2, new=1), StepHistory(1), "1 of 3 findings not in the last audit"),
        (
            StepHistory(1, gain=GAIN),
            None,
            "measured: +104 % throughput of bulk (1 measurement, no spread known)",
        ),
    ],
)
def test_one_line_below_an_entry(
    first: StepHistory | None, second: StepHistory | None, words: str | None
) -> None:
    steps = {"1": first, "2": second}
    known = {number: facts for number, facts in steps.items() if facts is not None}
    found = [line for line in rendered(PlanHistory(known)) if "history" in line]
    assert found == ([] if words is None else [f"    history: {words}"])


def test_hosts_with_most_findings_come_first_and_the_rest_is_counted() -> None:
    unread = [UnreadHost(f"kvm{number}", last("", number)) for number in range(30)]
    lines = rendered(PlanHistory(unread=(UnreadHost("a\x1b[2J", None), *unread)))
    at = lines.index("31 hosts not read; 435 findings open there at their last audit")
    assert lines[at + 1] == "  kvm29: last read 2026-11-20: 1 guest, 2 NICs, 29 findings open"
    assert lines[at + 21] == "  … 11 more (--verbose shows them)"
    every = rendered(PlanHistory(unread=(UnreadHost("a\x1b[2J", None), *unread)), verbose=True)
    assert "  a\\x1b[2J: no audit has read it" in every


def test_hosts_that_no_audit_read_have_no_sum() -> None:
    lines = rendered(PlanHistory(unread=(UnreadHost("kvm1", None),)))
    assert "1 host not read, now or by any audit" in lines


def test_facts_of_steps_are_put_together_in_time_that_grows_with_them() -> None:
    def together(steps: int) -> None:
        facts = {str(number): StepHistory(1, new=1) for number in range(steps + 1)}
        (line,) = (one for one in rendered(PlanHistory(facts), steps) if "history" in one)
        assert line.startswith(f"    history: {steps:,} of {steps:,} findings")

    assert ratio(together, 100, 800) <= MOST
