"""What guests say of themselves; answers as libvirt 9.0 passes them on."""

from lxml import etree

from tests.rows import rows
from vnicaudit.model.domain import DomainState
from vnicaudit.model.finding import Readiness
from vnicaudit.platforms.libvirt.domains import (
    GuestFacts,
    channel_state,
    guest_facts,
    upgraded_readiness,
)


@rows
def test_the_channel_tells_whether_an_agent_is_there(target: str, connected: bool) -> None:
    xml = f"<domain><devices><channel type='unix'>{target}</channel></devices></domain>"
    assert channel_state(etree.fromstring(xml)) is connected


def test_an_answer_becomes_facts() -> None:
    info = {"os.id": "debian", "os.version-id": "12", "os.kernel-release": "6.1.0-18-amd64"}
    assert guest_facts("u", info) == GuestFacts("u", "debian 12", "6.1.0-18-amd64")


def test_a_hostile_answer_is_cut_and_made_harmless() -> None:
    info = {"os.id": "\x1b[2Jroot\n" * 1000, "os.version-id": 7, "os.kernel-release": "x" * 10**6}
    facts = guest_facts("u", info)
    assert facts.os is not None
    assert facts.kernel == "x" * 64
    assert len(facts.os) <= 64
    assert facts.os.isprintable()
    assert facts.os.startswith("[2Jroot")


def test_silence_is_no_fact() -> None:
    assert guest_facts("u", {}) == GuestFacts("u", None, None)


@rows
def test_readiness_in_the_light_of_the_agent(
    declared: Readiness, os: str | None, kernel: str | None, expected: str
) -> None:
    state = DomainState(guest_os=os, guest_kernel=kernel)
    assert upgraded_readiness(declared, state) == expected
