"""A shadow NIC: the candidate is plugged in beside the old NIC, with a temporary address, and both
are measured in turns, in the same boot. The guest goes on serving by the old one: what is worse is
known before it costs anything.
"""

from __future__ import annotations

import random
from contextlib import ExitStack
from ipaddress import IPv4Interface
from typing import NamedTuple

from vnicaudit.bench import history
from vnicaudit.bench.contract import Endpoint, RequiredTool
from vnicaudit.bench.endpoints.tools import require_tools
from vnicaudit.bench.judging.order import blocks
from vnicaudit.bench.running.arms import OpenedArm
from vnicaudit.bench.running.listener import Listener
from vnicaudit.bench.running.measuring import MeasurementTerms, Measuring
from vnicaudit.bench.running.opening import Places
from vnicaudit.bench.trials import shadow_guest
from vnicaudit.bench.trials.flips import FlippedNic
from vnicaudit.bench.trials.request import AFTER, BEFORE, TrialRequest, guest_path, trial_terms
from vnicaudit.bench.trials.shadow_checks import (
    bound_to_address,
    check_free,
    check_nic,
    old_address,
)
from vnicaudit.bench.trials.shadow_guest import NicSurroundings
from vnicaudit.bench.trials.shadow_notes import ShadowNote, ShadowNotes
from vnicaudit.bench.trials.shadow_plug import ShadowPlug, Tell
from vnicaudit.bench.trials.shadow_witness import Taps, TapWitness
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
    element: bytes


class Shadow:
    """One measurement of one NIC of one guest. ``goal``: the definition that is planned;
    ``address``: the temporary one, in the NIC's network."""

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

    def measure(self) -> BenchResult:
        """Measure both; the guest is as it was when this returns, or raises. Raises RefusedError
        where that cannot be done, EndpointError where an end is lost."""
        with ExitStack() as stack:
            places = self._request.places(stack, self._request.listener.says)
            ready = self._get_ready(places)
            self._tell(self._machine.name, f"plugging the shadow NIC {ready.note.mac} in")
            with self._plug.plugged_in(ready.note, ready.element):
                shadow_guest.set_up(
                    self._agent, ready.note, ready.ground, str(self._address.network)
                )
                self._await_reached(ready.old.ends.peer)
                result = self._measured(places, ready)
            self._tell(self._machine.name, "the shadow NIC is out again")
        return result

    def _get_ready(self, places: Places) -> _Preparations:
        """Find out all that is needed, and change nothing. Raises RefusedError, EndpointError."""
        self._check_none_left()
        texts = self._adapters.texts
        number = texts.elements.interface_number(self._goal, self._guest.mac)
        if number is None:
            raise RefusedError(f"{self._guest.mac} is not one NIC of the definition")
        goal = texts.reading.definition_of(self._goal, self._guest.uri)
        children = texts.reading.children_of(self._goal, number)
        check_nic(self._runs(self._guest.mac), nic_of(goal, self._guest.mac), children)
        ground = shadow_guest.ground_of(self._agent, self._guest.mac, str(self._address.network))
        own = old_address(ground.addresses, self._address, self._guest.mac)
        old = self._open(places, BEFORE, own, self._guest.mac)
        profile = self._request.settled(old)
        self._request = self._request._replace(profile=profile)
        places.require([old], profile.workloads)
        require_tools(old.ends.target, [_PING])
        require_tools(old.ends.peer, [_PING])
        check_free(self._agent, old.ends.peer, self._address)
        note = self._note(ground)
        element = texts.elements.beside(self._goal, number, note.mac)
        return _Preparations(note, ground, old, element)

    def _check_none_left(self) -> None:
        for note in self._notes.every_note():
            if note.uuid == self._guest.uuid:
                raise RefusedError(f"the shadow NIC {note.mac} of an earlier run is still there")

    def _note(self, ground: NicSurroundings) -> ShadowNote:
        return ShadowNote(
            uri=self._guest.uri,
            uuid=self._guest.uuid,
            name=self._machine.name,
            mac=self._new_mac(),
            beside=self._guest.mac,
            address=str(self._address.ip),
            table=ground.table,
            arp_filter=ground.arp_filter,
            boot=ground.boot,
        )

    def _new_mac(self) -> str:
        """A high one of those that libvirt makes up for QEMU, and that no NIC of the domain has:
        a bridge that was given no address has the lowest of its ports' (net/bridge/br_stp_if.c,
        br_stp_recalculate_bridge_id), and is not to change it now."""
        taken = self._machine.live().lower() + self._goal.lower()
        source = random.SystemRandom()
        while True:
            last = f"{source.randrange(0xF00000, 0x1000000):06x}"
            mac = f"52:54:00:{last[:2]}:{last[2:4]}:{last[4:]}"
            if mac.encode("ascii") not in taken:
                return mac

    def _await_reached(self, peer: Endpoint) -> None:
        """Wait until the shadow NIC is reached: a link takes seconds to come up, a switch's port
        more."""
        ping = ("ping", "-c", "1", "-W", "1", str(self._address.ip))
        if not wait_until(self._adapters.clock, lambda: peer.run(ping).code == 0, _REACHED_SECONDS):
            raise EndpointError(
                f"{peer.url} does not reach the shadow NIC at {self._address.ip} within "
                f"{_REACHED_SECONDS:g} s: does the network, or a firewall of the guest, keep "
                "addresses away that it does not know?"
            )

    def _measured(self, places: Places, ready: _Preparations) -> BenchResult:
        shadow = self._open(places, AFTER, str(self._address.ip), ready.note.mac)
        opened = (ready.old, shadow)
        measuring = Measuring(
            self._terms(), history.new_measurement(self._request.state), self._witness(ready.note)
        )
        measuring.note_setups(opened, places.setups(opened), places.labels([ready.old]))
        rails = [measuring.rail_states(each) for each in opened]
        measuring.warm_up(opened)
        names = [workload.id for workload in self._request.profile.workloads]
        runs = self._terms().terms.looks[-1]
        measuring.stretch(opened, blocks((BEFORE, AFTER), names, runs, self._request.seed))
        for each, before in zip(opened, rails, strict=True):
            measuring.check_rails(each, before, shared=True)
        return measuring.conclude()

    def _witness(self, note: ShadowNote) -> Listener:
        old, shadow = self._runs(self._guest.mac), self._runs(note.mac)
        if old is None or shadow is None or not old.target_dev or not shadow.target_dev:
            raise RefusedError("the NICs have no taps on the host whose packets could be counted")
        taps = Taps(self._machine, old.target_dev, shadow.target_dev)
        return TapWitness(taps, self._request.listener)

    def _runs(self, mac: str) -> Nic | None:
        reading = self._adapters.texts.reading
        return nic_of(reading.definition_of(self._machine.live(), self._guest.uri), mac)

    def _open(self, places: Places, arm: str, address: str, mac: str) -> OpenedArm:
        """Each NIC with a session of its own, in which its settings are found."""
        path = guest_path(self._guest.uri, self._guest.uuid, self._request.peer)
        target = f"{path.target}&address={address}"
        return places.open(path._replace(name=arm, target=target), self._request.line, mac)

    def _terms(self) -> MeasurementTerms:
        return trial_terms(self._request, "shadow")
