"""What is looked for in a judgement of a server."""

from vnicaudit.audit.judging.catalogue import rule_ids, shipped_catalogue
from vnicaudit.knowledge import facts
from vnicaudit.model.finding import EVERY_RULE
from vnicaudit.remedy.planning.cloud.servers import needs_model


def test_rules_that_need_the_model_of_a_nic_need_no_other_fact_that_may_be_missing() -> None:
    catalogue = shipped_catalogue()
    assert [rule for rule in rule_ids() if needs_model(rule, catalogue)] == ["VNIC001"]
    assert not needs_model(EVERY_RULE, catalogue)
    assert set(catalogue.main_judge("VNIC001").needs) == {facts.SERVER_MODEL, facts.MODEL}
