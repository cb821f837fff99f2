"""What guests say of themselves; answers as libvirt 9.0 passes them on."""

import pytest
from lxml import etree

from vnicaudit.model.domain import DomainState
from vnicaudit.model.guest_words import Readiness
from vnicaudit.platforms.libvirt.agent import (
    GuestFacts,
    channel_state,
    guest_facts,
    upgraded_readiness,
)


@pytest.mark.parametrize(
    ("target", "connected"),
    [
        ("<target type='virtio' name='org.qemu.guest_agent.0' state='connected'/>", True),
        ("<target type='virtio' name='org.qemu.guest_agent.0' state='disconnected'/>", False),
        ("<target type='virtio' name='org.qemu.guest_agent.0'/>", False),
        ("<target type='virtio' name='com.redhat.spice.0' state='connected'/>", False),
    ],
)
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


@pytest.mark.parametrize(
    ("declared", "os", "kernel", "expected"),
    [
        ("unknown", "debian 12", "6.1.0", "ready"),
        ("unknown", "rhel 8.9", "4.18.0-513.el8", "ready"),
        ("needs-driver", "ubuntu 22.04", "5.15.0", "ready"),
        ("unknown", "rhel 6.10", "2.6.32-754.el6", "unknown"),
        ("unknown", "homemade 1", "6.1.0", "unknown"),
        ("unknown", "debian 12", None, "unknown"),
        ("unknown", "debian 12", "latest", "unknown"),
        ("unknown", "mswindows 10", None, "needs-driver"),
        ("ready", "mswindows 10", None, "ready"),
        ("ready", None, None, "ready"),
    ],
)
def test_readiness_in_the_light_of_the_agent(
    declared: Readiness, os: str | None, kernel: str | None, expected: str
) -> None:
    state = DomainState(guest_os=os, guest_kernel=kernel)
    assert upgraded_readiness(declared, state) == expected
