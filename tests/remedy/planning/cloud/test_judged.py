"""What is looked for in a judgement of a server."""

from vnicaudit.audit.judging.catalogue import rule_ids, shipped_catalogue
from vnicaudit.knowledge import facts
from vnicaudit.model.finding import EVERY_RULE
from vnicaudit.remedy.planning.cloud.servers import needs_model

ALWAYS = {facts.MODEL}
"""Facts that are known of every server, whatever its cloud says."""


def test_rules_that_need_the_model_of_a_nic() -> None:
    found = [rule for rule in rule_ids() if needs_model(rule, shipped_catalogue())]
    assert found == ["VNIC001"]
    assert not needs_model(EVERY_RULE, shipped_catalogue())


def test_they_need_nothing_else_that_may_be_missing() -> None:
    rules = [rule for rule in rule_ids() if needs_model(rule, shipped_catalogue())]
    needs = {need for rule in rules for need in shipped_catalogue().main_judge(rule).needs}
    assert needs - {facts.SERVER_MODEL} == ALWAYS
