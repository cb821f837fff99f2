"""How a step can take effect, and why not otherwise."""

import pytest
from msgspec.structs import replace

from tests.remedy.planning.guests import PC, guest, pci
from vnicaudit.model.domain import DomainState
from vnicaudit.model.plan import Blocked, Goal
from vnicaudit.remedy.planning.backends import identity_blocks, modes, no_change, state_notes

_RUNS = DomainState(active=True, persistent=True, agent=True)


def why_not(
    state: DomainState | None, to: Goal = "virtio", *, server: bool = False, live: bool = True,
    os_id: str | None = None,
) -> dict[str, str]:  # fmt: skip
    """The modes that are not possible -> why."""
    domain = guest(replace(PC, os_id=os_id), pci("e1000")).with_state(state)
    found = modes(domain, to, server_socket=server, live=live)
    assert [option.mode for option in found] == ["next-boot", "restart", "hotswap"]
    return {option.mode: option.reason for option in found if not option.possible}


_NO_AGENT = "no guest agent is connected to restore the IP addresses"
_WINDOWS = (
    "Windows treats the new device as a new adapter: its IP address would stay with the old one"
)


@pytest.mark.parametrize(
    ("state", "os_id", "says"),
    [
        (_RUNS, None, None),
        (replace(_RUNS, agent=None), None, None),  # it is asked when the plan is applied
        (replace(_RUNS, agent=False), None, _NO_AGENT),
        (replace(_RUNS, guest_os="mswindows 10"), None, _WINDOWS),
        (_RUNS, "http://microsoft.com/win/2k22", _WINDOWS),
    ],
)
def test_a_running_guest_is_hot_swapped_where_its_addresses_can_be_restored(
    state: DomainState, os_id: str | None, says: str | None
) -> None:
    assert why_not(state, os_id=os_id) == ({"hotswap": says} if says else {})


@pytest.mark.parametrize("to", ["vdpa", "vhostuser"])
def test_only_a_change_to_virtio_is_hot_swapped(to: Goal) -> None:
    assert why_not(_RUNS, to) == {
        "hotswap": "only a change to virtio is possible while the guest runs"
    }


def test_a_socket_that_qemu_listens_on_makes_its_start_wait() -> None:
    found = why_not(_RUNS, "vhostuser", server=True)
    assert found["restart"] == (
        "QEMU would wait for the other end of the socket while it starts: start it by hand"
    )


def test_a_guest_that_is_off_takes_it_up_at_its_next_start() -> None:
    domain = guest(PC, pci("e1000")).with_state(DomainState(active=False))
    off = True, "the guest is off: the change takes effect when it is started"
    found = modes(domain, "virtio", server_socket=False, live=True)
    assert [(one.possible, one.reason) for one in found] == [off] * 3
    found = modes(domain, "vhostuser", server_socket=True, live=True)
    assert [(one.possible, one.code) for one in found] == [
        (True, "off"), (True, "off"), (False, "virtio-only"),
    ]  # fmt: skip


def test_a_file_is_only_defined() -> None:
    reason = "libvirt reads a file only when it is defined (virsh define)"
    assert why_not(None, live=False) == {"restart": reason, "hotswap": reason}


def test_a_nic_is_known_by_its_mac() -> None:
    one, other = pci("e1000"), pci("e1000", "0000:00:04.0", 1)
    assert list(identity_blocks(guest(PC, one, other), one)) == []
    twin = replace(other, mac=one.mac)
    assert list(identity_blocks(guest(PC, one, twin), twin)) == [
        Blocked(
            "mac-not-unique",
            "another NIC of the domain has the same MAC address: they cannot be told apart",
        )
    ]
    bare = replace(one, mac=None)
    assert list(identity_blocks(guest(PC, bare), bare)) == [
        Blocked("mac-missing", "its definition has no MAC address to identify it by")
    ]


def test_snapshots_whose_memory_is_not_known_are_not_counted_twice() -> None:
    state = DomainState(managed_save=False, snapshots=2, memory_snapshots=None)
    assert list(state_notes(state)) == ["it is unknown whether it has snapshots with memory"]
    assert list(state_notes(None)) == []


def test_why_nothing_is_proposed() -> None:
    unable = guest(replace(PC, readiness="not-supported"))
    assert no_change(unable) == "the guest is known not to support virtio"
    assert no_change(guest(PC)) == ("no rule proposes a change; `vnicaudit audit` shows what to do")
