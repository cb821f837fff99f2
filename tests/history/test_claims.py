"""Findings that channels were told of: each is claimed once, whoever shares the history."""

import threading

from tests.reports.notices.samples import new
from vnicaudit.history import history_to_write
from vnicaudit.history.history import History
from vnicaudit.history.place import HistoryPlace

DAY = "2026-11-26"
MARKS = [new(number).fingerprint for number in range(3)]
CONTROLLERS = 4


def test_controllers_that_share_a_history_claim_each_finding_once(place: HistoryPlace) -> None:
    claimed: list[str] = []
    gate = threading.Barrier(CONTROLLERS)

    def claim() -> None:
        with history_to_write(place) as history:
            gate.wait(60)
            for number in range(20):
                claimed.extend(history.claim("ops", DAY, [f"{number:032x}", *MARKS]))

    threads = [threading.Thread(target=claim) for _ in range(CONTROLLERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(claimed) == sorted([*(f"{number:032x}" for number in range(20)), *MARKS])


def test_a_claim_is_for_one_channel_and_one_day_until_it_is_released(history: History) -> None:
    claims = history
    assert claims.claim("ops", DAY, MARKS[:1]) == set(MARKS[:1])
    assert claims.claim("ops", DAY, MARKS) == set(MARKS[1:])
    assert claims.claim("ops", DAY, MARKS) == set()
    assert claims.claim("ops", DAY, []) == set()
    claims.release("ops", DAY, MARKS[2:])
    claims.release("ops", DAY, [])
    assert claims.claim("ops", DAY, MARKS) == set(MARKS[2:])
    assert claims.claim("other", DAY, MARKS) == set(MARKS)
    assert claims.claim("ops", "2026-11-27", MARKS) == set(MARKS)


def test_claims_are_kept_for_a_week(history: History) -> None:
    for day in range(1, 29):
        assert history.claim("ops", f"2026-11-{day:02}", MARKS) == set(MARKS)
    with history.database.reading() as connection:
        days = connection.exec_driver_sql("SELECT DISTINCT day FROM notified ORDER BY day")
        assert [day for (day,) in days] == [f"2026-11-{day}" for day in range(22, 29)]
