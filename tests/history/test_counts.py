"""The counts that metrics are made of, over some audits."""

from tests.history.fleets import RULES, TestDomain, TestNic, audit, host, reading, timestamp
from tests.promtool import checked_metrics
from vnicaudit.history.audits import counts_of
from vnicaudit.history.history import History
from vnicaudit.model.finding import Severity
from vnicaudit.model.fleet import FindingCount, FleetCounts
from vnicaudit.reports.metrics import fleet_families, written

A, B, C = host("kvm1", "north"), host("kvm2", "south"), host("kvm3", "south")
SLOW = TestDomain(
    1,
    (
        TestNic("52:54:00:00:00:01", "e1000", frozenset({"TEST01"})),
        TestNic(
            "52:54:00:00:00:02", "e1000", frozenset({"TEST01", "TEST02"}), frozenset({"TEST02"})
        ),
    ),
)
OTHER = TestDomain(2, (TestNic("52:54:00:00:00:03", "e1000", frozenset({"TEST03"})),))


def severity_of(rule: str) -> Severity | None:
    return RULES.get(rule)


def counts(history: History) -> FleetCounts:
    found = counts_of(history.database, severity_of)
    checked_metrics("".join(written(fleet_families(found))))
    return found


def test_an_empty_history_has_no_audit(history: History) -> None:
    assert counts(history) == FleetCounts()


def test_findings_sites_and_changes_of_the_newest_audit(history: History) -> None:
    hosts = (A, B, C)
    history.store(
        audit("a1", 1, hosts),
        [reading(A, [SLOW], 1), reading(B, [OTHER], 1), reading(C, [], 1, status="failed")],
    )
    found = counts(history)
    assert found.finished == timestamp(1.01).replace(".000", "")
    assert found.rules == tuple(sorted(RULES.items()))
    assert set(found.findings) == {
        FindingCount("TEST01", "high", "north", "libvirt", open=2),
        FindingCount("TEST02", "medium", "north", "libvirt", suppressed=1),
        FindingCount("TEST03", "low", "south", "libvirt", open=1),
    }
    north, south = found.sites
    assert (north.site, north.fresh, north.hosts, north.nics, north.domains) == (
        "north",
        1,
        1,
        2,
        1,
    )
    assert (south.fresh, south.failed, south.hosts, south.nics) == (1, 1, 2, 1)
    assert (found.new, found.reopened, found.fixed, found.gone) == (3, 0, 0, 0)


def test_a_host_that_was_not_reached_or_not_chosen_keeps_its_state_and_its_age(
    history: History,
) -> None:
    hosts = (A, B)
    history.store(audit("a1", 1, hosts), [reading(A, [SLOW], 1), reading(B, [OTHER], 1)])
    history.store(audit("a2", 2, hosts, chosen=["kvm1"]), [reading(A, [], 2, status="failed")])
    found = counts(history)
    north, south = found.sites
    assert (north.failed, north.fresh, north.nics) == (1, 0, 2)
    assert (south.stale, south.fresh, south.nics) == (1, 0, 1)
    assert north.oldest_reading == south.oldest_reading == timestamp(1).replace(".000", "")
    assert sum(one.open for one in found.findings) == 0
    assert sum(one.stale for one in found.findings) == 3
    assert (found.fixed, found.gone) == (0, 0)


def test_a_rule_that_nobody_knows_any_more_has_no_zero(history: History) -> None:
    history.store(audit("a1", 1, (A,)), [reading(A, [SLOW], 1)])
    found = counts_of(history.database, lambda rule: None if rule == "TEST04" else RULES[rule])
    assert [rule for rule, _ in found.rules] == ["TEST01", "TEST02", "TEST03"]


def test_a_host_read_in_part_is_neither_fresh_nor_failed(history: History) -> None:
    history.store(audit("a1", 1, (A,)), [reading(A, [SLOW], 1, status="partial")])
    (site,) = counts(history).sites
    assert (site.partial, site.fresh, site.failed, site.stale) == (1, 0, 0, 0)
