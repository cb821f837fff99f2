"""Shadow NICs: one like the guest's present NIC and one like the planned NIC are plugged in in
turns, beside the NIC through which the guest continues to serve, with a temporary address. A loss
is known before it affects the service.

Both arms are plugged in again in every turn. The guest's own NIC cannot be, and measuring it would
compare one plug with many: with 8 % between plugs, ranks would call it a different NIC in a third
of all measurements. It also carries the guest's service.
"""

from __future__ import annotations

import random
from contextlib import ExitStack
from ipaddress import IPv4Interface
from typing import NamedTuple

from vnicaudit.bench import history
from vnicaudit.bench.contract import Endpoint, RequiredTool
from vnicaudit.bench.endpoints.tools import require_tools
from vnicaudit.bench.judging.order import Slot
from vnicaudit.bench.judging.stopping import NextRun
from vnicaudit.bench.running.arms import OpenedArm
from vnicaudit.bench.running.measuring import MeasurementTerms, Measuring
from vnicaudit.bench.running.opening import Places
from vnicaudit.bench.running.rails import RailStates
from vnicaudit.bench.trials import shadow_guest
from vnicaudit.bench.trials.flips import FlippedNic
from vnicaudit.bench.trials.request import AFTER, BEFORE, TrialRequest, trial_terms
from vnicaudit.bench.trials.shadow_checks import (
    bound_to_address,
    check_free,
    check_nic,
    old_address,
)
from vnicaudit.bench.trials.shadow_guest import NicSurroundings
from vnicaudit.bench.trials.shadow_notes import ShadowNote, ShadowNotes
from vnicaudit.bench.trials.shadow_plug import ShadowPlug, Tell
from vnicaudit.bench.trials.shadow_witness import TapWitness
from vnicaudit.bench.trials.turning import take_turns, visits_of
from vnicaudit.errors import EndpointError, RefusedError
from vnicaudit.model.measurement import BenchResult
from vnicaudit.model.nic import Nic
from vnicaudit.remedy.applying.domains.definition_transactions import nic_of
from vnicaudit.remedy.applying.verifying import wait_until
from vnicaudit.remedy.guest.agent import GuestAgent
from vnicaudit.remedy.hypervisor import Machine

_PING = RequiredTool("ping", {"apt": "iputils-ping", "dnf": "iputils"})
_REACHED_SECONDS = 30.0


class _Preparations(NamedTuple):
    """Facts gathered before anything is changed."""

    note: ShadowNote
    ground: NicSurroundings
    old: OpenedArm
    elements: dict[str, bytes]
    """Arm -> the NIC to plug in."""


class _Turns(NamedTuple):
    """Data that all turns share."""

    places: Places
    ready: _Preparations
    measuring: Measuring
    witness: TapWitness


class Shadow:
    """One measurement of one NIC of one guest. ``goal``: the planned definition; ``address``: the
    temporary address, in the NIC's network."""

    def __init__(
        self, request: TrialRequest, guest: FlippedNic, machine: Machine, goal: bytes,
        address: IPv4Interface, tell: Tell,
    ) -> None:  # fmt: skip
        self._request = request._replace(profile=bound_to_address(request.profile))
        self._guest = guest
        self._machine = machine
        self._goal = goal
        self._address = address
        self._tell = tell
        self._adapters = adapters = request.adapters()
        self._agent = GuestAgent(machine, adapters.clock)
        self._notes = ShadowNotes(request.state)
        self._plug = ShadowPlug(machine, self._notes, tell, adapters)
        self._rails: RailStates | None = None
        self._noted: set[str] = set()

    def measure(self) -> BenchResult:
        """Measure both; the guest is restored when this returns, or raises. Raises RefusedError if
        that is not possible, EndpointError if an end is lost."""
        with ExitStack() as stack:
            places = self._request.places(stack, self._request.listener.says)
            ready = self._get_ready(places)
            witness = TapWitness(self._machine, self._request.listener)
            task = self._terms()
            measuring = Measuring(task, history.new_measurement(self._request.state), witness)
            turns = _Turns(places, ready, measuring, witness)
            take_turns(
                measuring, visits_of(task), lambda arm, slots: self._visit(turns, arm, slots)
            )
            return measuring.conclude()

    def _visit(self, turns: _Turns, arm: str, slots: list[Slot]) -> NextRun:
        """All runs of a turn: the shadow NIC is plugged in before them, and unplugged after
        them."""
        ready = turns.ready
        self._tell(self._machine.name, f"plugging the shadow NIC {ready.note.mac} in, {arm}")
        with self._plug.plugged_in(ready.note, ready.elements[arm]):
            shadow_guest.set_up(self._agent, ready.note, ready.ground, str(self._address.network))
            self._await_reached(ready.old.ends.peer)
            step = self._measured(turns, arm, slots)
        self._tell(self._machine.name, "the shadow NIC is removed again")
        return step

    def _get_ready(self, places: Places) -> _Preparations:
        """Find out everything that is needed, and change nothing. Raises RefusedError,
        EndpointError."""
        self._check_none_left()
        mac = self._new_mac()
        elements = {BEFORE: self._beside(self._machine.live(), mac)}
        elements[AFTER] = self._beside(self._goal, mac)
        ground = shadow_guest.ground_of(self._agent, self._guest.mac, str(self._address.network))
        own = old_address(ground.addresses, self._address, self._guest.mac)
        old = self._open(places, BEFORE, own, self._guest.mac)
        profile = self._request.settled(old)
        self._request = self._request._replace(profile=profile)
        places.require([old], profile.workloads)
        require_tools(old.ends.target, [_PING])
        require_tools(old.ends.peer, [_PING])
        check_free(self._agent, old.ends.peer, self._address)
        return _Preparations(self._note(ground, mac), ground, old, elements)

    def _beside(self, definition: bytes, mac: str) -> bytes:
        """The NIC of a definition, made fit to be plugged in beside the guest's own. Raises
        RefusedError if that is not possible."""
        texts = self._adapters.texts
        number = texts.elements.interface_number(definition, self._guest.mac)
        if number is None:
            raise RefusedError(f"the definition does not have exactly one NIC {self._guest.mac}")
        nic = nic_of(texts.reading.definition_of(definition, self._guest.uri), self._guest.mac)
        check_nic(self._runs(self._guest.mac), nic, texts.reading.children_of(definition, number))
        return texts.elements.beside(definition, number, mac)

    def _check_none_left(self) -> None:
        for note in self._notes.every_note():
            if note.uuid == self._guest.uuid:
                raise RefusedError(f"the shadow NIC {note.mac} of an earlier run is still there")

    def _note(self, ground: NicSurroundings, mac: str) -> ShadowNote:
        return ShadowNote(
            uri=self._guest.uri,
            uuid=self._guest.uuid,
            name=self._machine.name,
            mac=mac,
            beside=self._guest.mac,
            address=str(self._address.ip),
            table=ground.table,
            arp_filter=ground.arp_filter,
            boot=ground.boot,
        )

    def _new_mac(self) -> str:
        """A high MAC of those that libvirt generates for QEMU, which no NIC of the domain has: a
        bridge without an address of its own takes the lowest of its ports' (net/bridge/br_stp_if.c,
        br_stp_recalculate_bridge_id), and must not change it now."""
        taken = self._machine.live().lower() + self._goal.lower()
        source = random.SystemRandom()
        while True:
            last = f"{source.randrange(0xF00000, 0x1000000):06x}"
            mac = f"52:54:00:{last[:2]}:{last[2:4]}:{last[4:]}"
            if mac.encode("ascii") not in taken:
                return mac

    def _await_reached(self, peer: Endpoint) -> None:
        """Wait until the shadow NIC is reachable: a link takes seconds to come up, a switch's port
        longer."""
        ping = ("ping", "-c", "1", "-W", "1", str(self._address.ip))
        if not wait_until(self._adapters.clock, lambda: peer.run(ping).code == 0, _REACHED_SECONDS):
            raise EndpointError(
                f"{peer.url} cannot reach the shadow NIC at {self._address.ip} within "
                f"{_REACHED_SECONDS:g} s: does the network, or a firewall in the guest, block "
                "unknown addresses?"
            )

    def _measured(self, turns: _Turns, arm: str, slots: list[Slot]) -> NextRun:
        turns.witness.watch(self._tap(turns.ready.note))
        opened = self._open(turns.places, arm, str(self._address.ip), turns.ready.note.mac)
        measuring = turns.measuring
        if arm not in self._noted:
            setups, labels = turns.places.setups([opened]), turns.places.labels([opened])
            measuring.note_setups([opened], setups, labels)
            self._noted.add(arm)
        if self._rails is None:
            self._rails = measuring.rail_states(opened)
        measuring.warm_up([opened])
        step = measuring.stretch([opened], slots)
        measuring.check_rails(opened, self._rails, shared=True)
        return step

    def _tap(self, note: ShadowNote) -> str:
        nic = self._runs(note.mac)
        if nic is None or not nic.target_dev:
            raise RefusedError("the NIC has no tap on the host to count packets on")
        return nic.target_dev

    def _runs(self, mac: str) -> Nic | None:
        reading = self._adapters.texts.reading
        return nic_of(reading.definition_of(self._machine.live(), self._guest.uri), mac)

    def _open(self, places: Places, arm: str, address: str, mac: str) -> OpenedArm:
        """Open each NIC with a session of its own, in which its settings are read."""
        path = self._request.path_into(self._guest.uri, self._guest.uuid, self._request.peer)
        target = f"{path.target}&address={address}"
        return places.open(path._replace(name=arm, target=target), self._request.line, mac)

    def _terms(self) -> MeasurementTerms:
        return trial_terms(self._request, "shadow")
