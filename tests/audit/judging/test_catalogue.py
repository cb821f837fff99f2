"""Words that select rules."""

from __future__ import annotations

import pytest

from vnicaudit.audit.judging.catalogue import shipped_catalogue


@pytest.mark.parametrize(
    ("rule_id", "name", "former"),
    [
        ("VNIC064", "server-image-model-mismatch", "server-not-as-image"),
        ("VNIC079", "server-definition-drift", "server-not-as-kept"),
    ],
)
def test_a_former_name_still_selects_its_rule_and_is_never_suggested(
    rule_id: str, name: str, former: str
) -> None:
    catalogue = shipped_catalogue()
    assert catalogue.info(rule_id).name == name
    assert catalogue.select([former], ()) == catalogue.select([name], ()) == (rule_id,)
    assert rule_id not in catalogue.select((), [former.upper()])
    assert former not in catalogue.hint(former[:-1])
