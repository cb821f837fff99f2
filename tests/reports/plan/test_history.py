"""What the history adds to a plan, in words."""

from typing import Any

from msgspec.structs import replace

from tests.regressions.hostile_input.growth import MOST, ratio
from tests.reports.plan.samples import EMPTY
from tests.reports.plan.test_by_change import step_on
from tests.rows import rows
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


@rows
def test_one_line_below_an_entry(steps: dict[str, list[Any]], words: list[str]) -> None:
    known = {number: StepHistory(*facts) for number, facts in steps.items()}
    found = [line for line in rendered(PlanHistory(known)) if "history" in line]
    assert found == [f"    history: {line}" for line in words]


def test_a_gain_that_was_measured() -> None:
    lines = rendered(PlanHistory({"1": StepHistory(1, gain=GAIN)}))
    words = "measured: +104 % throughput of bulk (1 measurement, no spread known)"
    assert [line for line in lines if "history" in line] == [f"    history: {words}"]


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
