"""Judgements on hosts and their links."""

import msgspec
import pytest

from vnicaudit.audit.judging.hosts import HostAuditor
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.host import HostConfig
from vnicaudit.model.host_facts import CpuFacts, Feature, HostFacts, HostGuest, HostLink, NicOnHost
from vnicaudit.model.report import Audited
from vnicaudit.model.rule import HostSubject, VisitedHost

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
    config = HostConfig()
    host = HostSubject(config) if facts is None else VisitedHost(config, facts=facts)
    audited = AUDITOR.audit("kvm1", host, "ssh://kvm1")
    assert [each.rule for each in audited.skipped] == skipped
    assert all("ip -j link" in each.needs for each in audited.skipped)


def test_a_fix_in_a_network_namespace_says_where_its_commands_belong() -> None:
    tap = HostLink(name="tap0", kind="tun", master="br0")
    feature = {"tcp-segmentation-offload": Feature(on=False)}
    links = (
        tap,
        HostLink(name="br0", kind="bridge"),
        HostLink(name="eth0", physical=True, master="br0", features=feature),
    )
    guest = HostGuest(name="web", nics=(NicOnHost(device="tap0"),))
    host = VisitedHost(HostConfig(), facts=HostFacts(links=links), guests=(guest,))
    (there, *_more) = AUDITOR.audit("kvm1", host, "netns://lab?sudo=true").findings
    (here, *_more) = AUDITOR.audit("kvm1", host, "ssh://kvm1").findings
    assert there.fix == f"{here.fix} (Commands: in that network namespace, ip netns exec lab sh.)"


@pytest.mark.parametrize(("isolated", "kinds"), [((3,), ["reserved", "isolated"]), ((), None)])
def test_how_cpus_are_divided_is_kept(isolated: tuple[int, ...], kinds: list[str] | None) -> None:
    facts = HostFacts(cpus=CpuFacts(online=(0, 1, 2, 3), isolated=isolated))
    audited = AUDITOR.audit("kvm1", VisitedHost(HostConfig(), facts=facts), "ssh://kvm1")
    for form in (msgspec.json, msgspec.msgpack):
        assert form.decode(form.encode(audited), type=Audited) == audited
    cpus = audited.cpus
    assert (None if cpus is None else [each.kind for each in cpus.columns]) == kinds
