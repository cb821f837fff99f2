"""For each setting of a host all others were looked through: an adapter of 256 queues used up the
time that its timer gives."""

from msgspec.structs import replace

from tests.regressions.hostile_input.growth import MOST, TIMES, ratio
from tests.remedy.applying.settings_host import FACTS, TARGET
from vnicaudit.knowledge.host_setting_values import (
    change_of_governor,
    change_of_several,
    change_on_each,
    values_of,
)
from vnicaudit.knowledge.host_settings import HostSetting
from vnicaudit.model.finding import Change, Finding, Location, Ref
from vnicaudit.model.host_facts import CpuFacts, HostFacts, HostLink, Interrupt, Queue
from vnicaudit.remedy.applying.setting_work import unlike, values_now
from vnicaudit.remedy.planning.host_settings import steps_of

SIZE = 60


def _host(size: int) -> HostFacts:
    queues = tuple(Queue(name=f"rx-{number}", cpus=(0, 1), flows=0) for number in range(size))
    interrupts = tuple(
        Interrupt(number=str(number), device="q", link="eth0", allowed=(0, 1))
        for number in range(size)
    )
    cpus = CpuFacts(
        online=(0, 1), governors={"powersave": tuple(range(size))}, interrupts=interrupts
    )
    return replace(FACTS, links=(HostLink(name="eth0", queues=queues),), cpus=cpus)


HOSTS = _host(SIZE), _host(SIZE * TIMES)


def _planned(facts: HostFacts) -> None:
    (link,) = facts.links or ()
    masks = change_on_each(facts, link, link.queues or (), "1", "")
    numbers = [one.number for one in facts.cpus.interrupts or ()]
    moved = change_of_several(facts, {HostSetting("irq", "eth0", one): "1" for one in numbers}, "")
    assert masks is not None
    assert moved is not None
    for change, about in (
        (masks, Ref("link", "eth0")),
        (moved, Ref("link", "eth0")),
        (change_of_governor(facts, "performance", ""), Ref("host", "kvm1")),
    ):
        finding = _finding(change, about)
        assert len(list(steps_of([finding], facts, TARGET, "kvm1", over_owner=False)))


def _finding(change: Change, about: Ref) -> Finding:
    place = Location(TARGET)
    return Finding("VNIC900", "any", "low", "high", "it is so", about, place, "host", change, "one")


def test_many_queues_and_cpus_are_planned_in_time_that_grows_with_them() -> None:
    assert ratio(_planned, *HOSTS) <= MOST


def test_many_queues_and_cpus_are_compared_in_time_that_grows_with_them() -> None:
    for device in ("eth0", ""):
        wanted = dict.fromkeys(values_of(HOSTS[1], device), "")
        assert len(wanted) >= SIZE * TIMES

        def compared(facts: HostFacts, device: str = device) -> None:
            values = values_of(facts, device)
            assert values_now(facts, values) == values
            assert unlike(facts, values) == {}

        assert ratio(compared, *HOSTS) <= MOST
