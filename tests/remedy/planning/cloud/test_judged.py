"""What is looked for in a judgement of a server."""

from __future__ import annotations

from vnicaudit.audit.catalogue import load, rule_ids
from vnicaudit.model.finding import EVERY_RULE
from vnicaudit.remedy.planning.cloud.judged import MODEL_FACT, needs_model

ALWAYS = {"model"}
"""Facts that are known of every server, whatever its cloud says."""


def test_rules_that_need_the_model_of_a_nic() -> None:
    found = [rule for rule in rule_ids() if needs_model(rule)]
    assert found == ["VNIC001"]
    assert not needs_model(EVERY_RULE)


def test_they_need_nothing_else_that_may_be_missing() -> None:
    needs = {need for rule in rule_ids() if needs_model(rule) for need in load(rule).needs}
    assert needs - {MODEL_FACT} == ALWAYS
