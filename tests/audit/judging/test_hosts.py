"""Judgements on hosts and their links."""

import pytest

from vnicaudit.audit.judging.hosts import HostAuditor
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.host import HostConfig
from vnicaudit.model.host_facts import HostFacts, HostLink
from vnicaudit.model.rule import HostSubject

AUDITOR = HostAuditor(["VNIC051", "VNIC119"], every_platform().wordings)


@pytest.mark.parametrize(
    ("facts", "skipped"),
    [
        (None, []),
        (HostFacts(), ["VNIC051", "VNIC119"]),
        (HostFacts(links=(HostLink(name="lo"),)), []),
    ],
)
def test_links_that_were_not_read_are_told(facts: HostFacts | None, skipped: list[str]) -> None:
    audited = AUDITOR.audit("kvm1", HostSubject(HostConfig(), facts=facts), "ssh://kvm1")
    assert [each.rule for each in audited.skipped] == skipped
    assert all("ip -j link" in each.needs for each in audited.skipped)
