"""What QEMU's arguments and descriptors prove of a NIC that was changed."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.rows import rows
from vnicaudit.cli.wiring.adapters import adapters
from vnicaudit.model.finding import Change
from vnicaudit.model.host import MachineState
from vnicaudit.model.nic import RunningNic
from vnicaudit.remedy.applying.domains.checks import DomainChecks
from vnicaudit.remedy.applying.domains.definition_transactions import DomainPlace, GuestBefore
from vnicaudit.remedy.applying.journal.events import NicChanges
from vnicaudit.remedy.hypervisor import RunningProcess

MAC = "52:54:00:00:00:01"
TAP = RunningNic("virtio-net-pci", "virtio", "tap", MAC)
BRIDGE = "<source bridge='br0'/>"


def interface(
    kind: str = "bridge", source: str = BRIDGE, driver: str = "", mac: str = MAC,
    model: str = "virtio",
) -> str:  # fmt: skip
    return (
        f"<interface type='{kind}'><mac address='{mac}'/>{source}<model type='{model}'/>{driver}"
        "</interface>"
    )


class Machine:
    """A domain that runs."""

    uuid = "00000000-0000-4000-8000-000000000001"

    def __init__(self, *interfaces: str) -> None:
        self._text = (
            f"<domain type='kvm' id='1'><name>d</name><os><type arch='x86_64' machine='pc'>hvm"
            f"</type></os><devices>{''.join(interfaces)}</devices></domain>"
        )

    def state(self) -> MachineState:
        return MachineState(
            "running", persistent=True, managed_save=False, memory_snapshots=0, job=False,
            migrating=False,
        )  # fmt: skip

    def live(self) -> bytes:
        return self._text.encode()


class Host:
    """This machine."""

    uri = "here"
    local = True


def found(
    machine: Machine, process: RunningProcess | None, name: str,
    *, changes: tuple[Change, ...] = (),
) -> tuple[str, str]:  # fmt: skip
    """Verdict and detail of the check with that name; nothing where it is not made."""
    here = SimpleNamespace(running_process=lambda _uuid: process)
    there = adapters()._replace(machine=here)
    wanted = NicChanges(0, 1, MAC, changes)
    place = DomainPlace(Host(), machine, there)  # type: ignore[arg-type]
    seen = DomainChecks(place, (wanted,), GuestBefore(), hot=False).results()
    return next(((one.verdict, one.detail) for one in seen.checks if one.name == name), ("", ""))


@rows
def test_the_command_line(nic: list[str], running: list[Any], verdict: str, detail: str) -> None:
    process = RunningProcess((RunningNic(*running),), 0)
    assert found(Machine(interface(*nic)), process, "qemu") == (verdict, detail)


@rows
def test_vhost_is_open_once_for_each_queue(
    nics: list[dict[str, str]], files: int | None, is_asked: bool, verdict: str, detail: str
) -> None:
    changes = (Change("driver_name", None, "vhost", safe=True),) if is_asked else ()
    machine, process = Machine(*(interface(**nic) for nic in nics)), RunningProcess((TAP,), files)
    assert found(machine, process, "vhost", changes=changes) == (verdict, detail)


@rows
def test_where_there_is_no_vhost_net(nic: str) -> None:
    assert found(Machine(nic), RunningProcess((TAP,), 0), "vhost") == ("", "")


def test_a_process_that_cannot_be_looked_at() -> None:
    said = found(Machine(interface()), None, "qemu")
    assert said == ("unknown", "QEMU's process is not visible from here")


@pytest.mark.parametrize(
    ("before", "packets", "verdict", "detail"),
    [
        (True, 0, "failed", f"{MAC} has sent no packet yet"),
        (False, 0, "unknown", f"{MAC} has sent no packet yet"),
        (True, 7, "ok", f"{MAC} has sent 7 packets"),
        (True, None, "unknown", f"the host has no packet counter for {MAC}"),
    ],
)
def test_a_guest_that_sent_before_has_to_send_again(
    before: bool, packets: int | None, verdict: str, detail: str
) -> None:
    machine = Machine(interface(driver="<target dev='vnet0'/>"))
    counted = None if packets is None else SimpleNamespace(sent=packets)
    machine.traffic = lambda _device: counted  # type: ignore[attr-defined]
    here = SimpleNamespace(running_process=lambda _uuid: None)
    place = DomainPlace(Host(), machine, adapters()._replace(machine=here))  # type: ignore[arg-type]
    was = GuestBefore(sent={MAC: before})
    seen = DomainChecks(place, (NicChanges(0, 1, MAC, ()),), was, hot=False).results()
    assert [(c.verdict, c.detail) for c in seen.checks if c.name == "traffic"] == [
        (verdict, detail)
    ]
