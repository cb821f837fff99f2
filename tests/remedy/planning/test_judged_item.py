"""A domain judged as it is, and as it would be."""

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.remedy.planning.planned import (
    HOST,
    MAC,
    SECOND,
    definition,
    in_file,
    interface,
    live,
    requested,
    selected,
)
from tests.remedy.works import work
from vnicaudit.audit.judging.catalogue import rule_ids
from vnicaudit.audit.work import AuditWork
from vnicaudit.errors import RefusedError
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import Change
from vnicaudit.model.host import HostConfig, Network
from vnicaudit.model.report import Audited
from vnicaudit.remedy.planning.domain_targets import DomainPlanner
from vnicaudit.remedy.planning.nic import NicFacts
from vnicaudit.remedy.planning.source import DomainSource, JudgedDomain, no_names
from vnicaudit.remedy.planning.subject import is_decided

TO_VIRTIO = Change("model", "e1000", "virtio", safe=True)


def judged(source: DomainSource) -> JudgedDomain:
    return JudgedDomain(source, requested(work()))


def test_findings_are_those_of_one_nic() -> None:
    found = judged(live(definition(interface("virtio"), interface("e1000", 2))))
    first, second = found.source.domain.nics
    assert "VNIC002" not in [one.rule for one in found.findings_of(first)]
    assert [one.rule for one in found.findings_of(second)] == ["VNIC002"]
    assert {one.about.mac for one in found.findings_of(second)} == {SECOND}


def test_what_would_come_is_read_again_not_guessed() -> None:
    found = judged(live(definition(interface("e1000"), interface("rtl8139", 2))))
    text, after = found.with_changes(found.source.domain.nics[0], (TO_VIRTIO,))
    assert [nic.declared.model for nic in after.nics] == ["virtio", "rtl8139"]
    assert text == found.source.text.replace(b"e1000", b"virtio")


def test_equal_changes_of_two_nics_are_not_confused() -> None:
    found = judged(live(definition(interface("e1000"), interface("e1000", 2))))
    first, second = found.source.domain.nics
    for nic, models in (
        (first, ["virtio", "e1000"]), (second, ["e1000", "virtio"]), (first, ["virtio", "e1000"])
    ):  # fmt: skip
        text, after = found.with_changes(nic, (TO_VIRTIO,))
        assert [one.declared.model for one in after.nics] == models
        assert re.findall(rb"<model type='(\w+)'", text) == [model.encode() for model in models]
        assert "VNIC002" not in [one.rule for one in found.findings_to_plan(nic, (TO_VIRTIO,))]


class CountingWork(AuditWork):
    """Counts the domains that are judged."""

    judged = 0

    def domain(self, domain: Domain, host: HostConfig | None, target: str) -> Audited:
        self.judged += 1
        return super().domain(domain, host, target)


def test_a_change_is_judged_once_for_a_step() -> None:
    """Half of the time of a plan once went into reading and judging it again."""
    counting = selected(*rule_ids(), kind=CountingWork)
    assert isinstance(counting, CountingWork)
    planner = DomainPlanner(requested(counting), NicFacts(None, {}, no_names))
    assert len(list(planner.plan(live(definition(interface("e1000")))))) == 1
    assert counting.judged == 2  # as it is, and as it would be


def test_what_is_read_again_keeps_what_only_the_host_knows() -> None:
    """The readiness an agent tells, the network's type, the state."""
    source = live(
        definition(interface("e1000", kind="network"), os=None),
        networks=(Network("default", "bridge"),),
    )
    declared = replace(source.domain.declared, readiness="ready")
    source = source._replace(domain=replace(source.domain, declared=declared))
    found = judged(source)
    _text, after = found.with_changes(source.domain.nics[0], (TO_VIRTIO,))
    assert after.declared.readiness == "ready"
    assert after.nics[0].declared.actual_type == "bridge"
    assert after.state == source.domain.state


def test_a_domain_of_a_file_is_found_again_among_others(tmp_path: Path) -> None:
    text = definition(interface("e1000")) + definition(interface("rtl8139"), name="b")
    _first, second = in_file(tmp_path / "a.xml", text)
    change = replace(TO_VIRTIO, old="rtl8139")
    after = judged(second).with_changes(second.domain.nics[0], (change,))[1]
    assert (after.name, after.nics[0].declared.model) == ("b", "virtio")


def test_a_nic_that_is_not_there_is_refused() -> None:
    found = judged(live(definition(interface("e1000"))))
    nic = found.source.domain.nics[0]
    elsewhere = replace(nic, location=replace(nic.location, xpath="/domain/devices/interface[7]"))
    with pytest.raises(RefusedError, match="is no longer there"):
        found.with_changes(elsewhere, (TO_VIRTIO,))


def test_proposals_come_worst_first_and_only_those_that_findings_decide() -> None:
    tuned = "<driver queues='8' tx_queue_size='1024'/>"
    found = judged(live(definition(interface("virtio", children=tuned))))
    proposed = found.findings_to_plan(found.source.domain.nics[0], ())
    assert [one.rule for one in proposed] == ["VNIC034", "VNIC031"]


@pytest.mark.parametrize(
    ("change", "decided"),
    [
        (Change("model", "e1000", "virtio", safe=True), True),
        (Change("queues", None, "4", safe=False), False),
        (Change("queues", "2", "4", safe=False), False),
        (Change("queues", "8", "4", safe=True), True),
        (Change("queues", "4", None, safe=True), True),
        (Change("rx_queue_size", None, "1024", safe=False), False),
        (Change("rx_queue_size", "2048", "1024", safe=True), True),
        (Change("tx_queue_size", "1024", None, safe=True), True),
        (None, False),
    ],
)
def test_more_queues_and_larger_rings_are_the_policys(change: Change | None, decided: bool) -> None:
    found = judged(live(definition(interface("e1000"))))
    (finding,) = found.findings_of(found.source.domain.nics[0])
    assert is_decided(replace(finding, change=change)) is decided


def test_only_errors_that_were_not_there_are_worse() -> None:
    """A NIC that does not start already is not made worse by what leaves it so."""
    host = replace(HOST, vhost_net=False, kvm=True)
    pinned = "<driver name='vhost'/>"
    both = live(
        definition(interface("e1000", children=pinned), interface("virtio", 2, children=pinned)),
        host=host,
    )
    found = judged(both)
    first, second = both.domain.nics
    _text, after = found.with_changes(first, (TO_VIRTIO,))
    (says,) = found.new_errors(after, first.index)
    assert says.text.startswith("it would cause VNIC024: ")
    assert found.new_errors(after, second.index) == ()


def test_worse_is_by_all_rules() -> None:
    source = live(
        definition(interface("e1000", children="<driver name='vhost'/>")),
        host=replace(HOST, vhost_net=False, kvm=True),
    )
    found = JudgedDomain(source, requested(selected("VNIC002"), work()))
    assert [one.rule for one in found.findings_of(source.domain.nics[0])] == ["VNIC002"]
    _text, after = found.with_changes(source.domain.nics[0], (TO_VIRTIO,))
    assert len(found.new_errors(after, source.domain.nics[0].index)) == 1


def test_the_mac_is_lower_case_whatever_is_written(tmp_path: Path) -> None:
    (source,) = in_file(tmp_path / "a.xml", definition(interface("e1000", mac="52:54:00:AA:BB:CC")))
    assert source.domain.nics[0].mac == "52:54:00:aa:bb:cc"
    assert MAC not in source.text.decode()
