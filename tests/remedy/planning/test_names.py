"""Interface names before and after: known, predicted, or left open with the reason."""

from typing import Any

from tests.remedy.planning.guests import domain_in, guest, nic_in
from tests.rows import rows
from vnicaudit.knowledge.systems import system_of
from vnicaudit.model.plan import Naming
from vnicaudit.remedy.planning.naming import naming


@rows
def test_names(case: dict[str, Any]) -> None:
    before = nic_in(**case.get("before", {"model": "e1000"}))
    after = nic_in(**case.get("after", {"model": "virtio"}))
    others, today = (nic_in(**one) for one in case.get("beside", ())), case.get("today")
    domain = guest(
        domain_in(**case.get("domain", {})), before, *others, os=case.get("os", "debian 12")
    )
    found = naming(domain, system_of(domain, today), before, after, today)
    assert found == Naming(**case["expected"])
