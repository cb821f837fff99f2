"""A cloud that answers at once, and does what it was asked a while later, as Nova does.

Its states and refusals are those of Nova 34.0.0: ``check_instance_state``,
``check_instance_lock``, ``stop``, ``start`` and ``_hard_reboot`` in nova/compute/api.py;
``stop_instance``, ``start_instance``, ``_reboot_instance`` and ``reverts_task_state`` in
nova/compute/manager.py; ``ImagePropertyCommands`` in nova/cmd/manage.py. What a real one does is
shown in ``tests/openstack``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from msgspec.structs import replace

from tests.remedy.applying.fakes import Killed, Stage, reaching, watch
from vnicaudit.errors import ActionError, GoneError, NoResponseError, NotVisibleError
from vnicaudit.model.finding import Change, Ref
from vnicaudit.model.plan import MODES, FlavorUnit, ImageUnit, ModeOption, ServerUnit, Step
from vnicaudit.model.runs import FlavorState, PortState, ServerState
from vnicaudit.remedy.hypervisor import CloudAccess, CommandOutput
from vnicaudit.remedy.planning.cloud.properties import diff
from vnicaudit.remedy.replacing import kept_digest

TARGET = "openstack:test"
MODEL = "hw_vif_model"
STOP_SECONDS = 2.0
START_SECONDS = 5.0
BOOT_SECONDS = 4.0
MANAGE_SECONDS = 4.0
LANDS_SECONDS = 1.5
IMAGE = "11111111-0000-4000-8000-000000000001"
FLAVOR = "m1"

Ending = Literal["before", "between", "behind"]


class Fault:
    """What goes wrong with one kind of call: an error before or behind what it does (or between its
    two writes), so many times (None: until it is put right), from its ``first`` call on."""

    def __init__(
        self, error: Exception | CommandOutput, ending: Ending = "before", times: int | None = 1,
        first: int = 1,
    ) -> None:  # fmt: skip
        self.error = error
        self.ending = ending
        self.now = False
        """It was due when it was asked last."""
        self._left = times
        self._first = first

    def due(self) -> bool:
        """Whether it happens now."""
        self.now = self._due()
        return self.now

    def _due(self) -> bool:
        self._first -= 1
        if self._first > 0 or self._left == 0:
            return False
        if self._left is not None:
            self._left -= 1
        return True


class Server:
    """An instance and its guest. ``driverless``: it has no virtio driver, and sends nothing with
    such a NIC; ``wont_start``: its node cannot start it; ``wont_stop``: nor stop it; ``hangs``: it
    stays in its task for so long; ``crashes_with``: it goes off a second after a start with that
    model."""

    def __init__(self, world: CloudWorld, number: int) -> None:
        self.id = f"00000000-0000-4000-8000-{number:012d}"
        self.name = f"server-{number}"
        self.mac = f"fa:16:3e:00:00:{number:02x}"
        self.vm_state = "stopped"
        self.task_state: str | None = None
        self.kept: dict[str, str] = {MODEL: "rtl8139", "hw_disk_bus": "virtio"}
        self.requested = dict(self.kept)
        """In the request specification, which nobody is shown."""
        self.image = True
        self.running: dict[str, str] = {}
        self.locked = self.driverless = self.wont_stop = self.deleted = False
        self.wont_start: Callable[[], bool] = lambda: False
        self.crashes_with = ""
        self.hangs = 0.0
        self.host_status = "UP"
        self.shared: tuple[str, ...] = ()
        self.trouble = ""
        self._world = world
        self._talks_at = 0.0
        self._later: list[tuple[float, Callable[[], None]]] = []
        self._turn = threading.RLock()

    def keep(self, new: Mapping[str, str]) -> None:
        """As nova-manage does, to its end."""
        self.kept.update(new)
        self.requested.update(new)

    def boot(self, seconds: float = 0.0) -> None:
        """It runs, as it is kept, and will send packets after some seconds."""
        self.vm_state, self.task_state = "active", None
        self.running = dict(self.kept)
        self._talks_at = self._world.clock.seconds + seconds

    @property
    def model(self) -> str | None:
        """What it runs; None: it does not."""
        self.catch_up()
        return self.running.get(MODEL) if self.vm_state == "active" else None

    @property
    def talks(self) -> bool:
        """Whether its guest has sent packets."""
        able = not (self.driverless and self.running.get(MODEL) == "virtio")
        return self.model is not None and able and self._world.clock.seconds >= self._talks_at

    def catch_up(self) -> None:
        """What Nova has done meanwhile."""
        with self._turn:  # those who set other servers look as well
            while due := [one for one in self._later if one[0] <= self._world.clock.seconds]:
                first = min(due, key=lambda one: one[0])
                self._later.remove(first)
                first[1]()

    def later(self, seconds: float, what: Callable[[], None]) -> None:
        """Do something in a while."""
        self._later.append((self._world.clock.seconds + seconds, what))

    def stop(self) -> None:
        self._check_lock()
        self._check(("active", "error"))
        self.task_state = "powering-off"
        self.later(STOP_SECONDS + self.hangs, self._stopped)

    def start(self) -> None:
        self._check_lock()
        self._check(("stopped",))
        self.task_state = "powering-on"
        self.later(START_SECONDS + self.hangs, lambda: self._started("stopped"))

    def hard_reboot(self) -> None:
        self._check_lock()
        self._check(("active", "stopped", "paused", "suspended", "error"))
        self.task_state = "rebooting_hard"
        self.later(START_SECONDS + self.hangs, lambda: self._started("error"))

    def _stopped(self) -> None:
        if self.task_state != "powering-off":
            return
        self.task_state = None
        if not self.wont_stop:
            self.vm_state, self.running = "stopped", {}

    def _started(self, otherwise: str) -> None:
        if self.wont_start():
            self.vm_state, self.task_state, self.running = otherwise, None, {}
            self.trouble = "internal error: qemu unexpectedly closed the monitor"
            return
        self.boot(BOOT_SECONDS)
        if self.running.get(MODEL) == self.crashes_with:
            self.later(1.0, self._crashed)

    def _crashed(self) -> None:
        if self.vm_state == "active":
            self.vm_state, self.running = "stopped", {}

    def _check(self, states: tuple[str, ...]) -> None:
        if self.deleted:
            raise ActionError(f"404: Instance {self.id} could not be found.")
        if self.vm_state not in states:
            raise ActionError(f"409: instance {self.id} is in vm_state {self.vm_state}")
        if self.task_state is not None:
            raise ActionError(f"409: instance {self.id} is in task_state {self.task_state}")

    def _check_lock(self) -> None:
        if self.locked and not self._world.admin:
            raise ActionError(f"409: Instance {self.id} is locked")


class CloudWorld(Stage):
    """A cloud, its nova-manage, and the program that works on it. ``says_kept``: it offers
    microversion 2.98."""

    name = "test"
    key = "nova.example"
    admin: bool | None = True

    def __init__(self, folder: Path, servers: int = 1) -> None:
        super().__init__(folder)
        self.servers = [Server(self, number) for number in range(1, servers + 1)]
        self.image: dict[str, str] = {MODEL: "rtl8139", "os_distro": "debian"}
        self.flavors = {FLAVOR: FlavorState(FLAVOR, "m1.small", {"hw:mem_page_size": "large"})}
        self.flavor_users = 0
        self.release: tuple[int | None, int | None] = (31, None)
        self.says_kept = True
        self.says_packets = True
        self.manages = "34.0.0"
        self.calls: list[str] = []
        self.faults: dict[str, Fault] = {}
        self.reach = CloudAccess(self.manage)
        self.adapters = self.adapters._replace(cloud=reaching(self))
        self.elsewhere = False
        """It is another cloud by now, or asked as another user: it knows none of the servers."""
        self.looks: list[Callable[[], None]] = []
        """Are called whenever the server is looked at: what somebody else does."""
        self.on_its_way: tuple[float, Callable[[], object]] | None = None
        """When a request comes whose answer nobody waits for any more, and what it does."""
        self.shown_as: dict[str, Any] = {}
        """Fields of every server as Nova shows it, instead of what they are."""

    def interrupt_while_off(
        self, server: Server, ended: BaseException | type[BaseException] = KeyboardInterrupt
    ) -> None:
        """The program is ended when it first sees that server off."""

        def look() -> None:
            if server.vm_state == "stopped":
                self.looks.clear()
                raise ended

        self.looks.append(look)

    # -- what is asked of the API

    def server(self, server_id: str) -> ServerState:
        found = self._of(server_id)
        with self._call("server", pure=True):
            for look in self.looks:
                look()
            if found.deleted:
                raise GoneError(f"server {server_id} no longer exists")
            if self.elsewhere:
                raise NotVisibleError(f"Nova knows no server {server_id}")
            status = {"active": "ACTIVE", "stopped": "SHUTOFF"}
            shown = ServerState(
                id=found.id,
                name=found.name,
                status=status.get(found.vm_state, found.vm_state.upper()),
                vm_state=found.vm_state,
                task_state=found.task_state,
                power_state=1 if found.vm_state == "active" else 4,
                locked=found.locked,
                host="cmp1",
                host_status=found.host_status,
                stored_properties=dict(found.kept) if self.says_kept and found.image else None,
                has_image=found.image,
            )
            return replace(shown, **self.shown_as)

    def ports(self, server_id: str) -> tuple[PortState, ...]:
        found = self._of(server_id)
        with self._call("ports", pure=True):
            if found.deleted:
                return ()
            status = "ACTIVE" if found.vm_state == "active" else "DOWN"
            return (PortState(f"port-{found.name}", found.mac, status),)

    def packets_sent(self, server_id: str) -> dict[str, int] | None:
        found = self._of(server_id)
        with self._call("sent", pure=True):
            if not self.says_packets or found.vm_state != "active" or found.deleted:
                return None
            return {found.mac: 7 if found.talks else 0}

    def shared_volumes(self, server_id: str) -> tuple[str, ...]:
        found = self._of(server_id)
        with self._call("volumes", pure=True):
            return found.shared

    def trouble(self, server_id: str) -> str:
        return self._of(server_id).trouble

    def stop(self, server_id: str) -> None:
        self._asked("stop", server_id, Server.stop)

    def start(self, server_id: str) -> None:
        self._asked("start", server_id, Server.start)

    def hard_reboot(self, server_id: str) -> None:
        self._asked("hard_reboot", server_id, Server.hard_reboot)

    def image_properties(self, image_id: str) -> dict[str, str]:
        assert image_id == IMAGE
        with self._call("image", pure=True):
            return dict(self.image)

    def set_image_properties(self, image_id: str, properties: Mapping[str, str | None]) -> None:
        assert image_id == IMAGE
        with self._call("set_image"):
            new = {**self.image, **properties}
            self.image = {name: value for name, value in new.items() if value is not None}

    def flavor(self, flavor_id: str) -> FlavorState | None:
        with self._call("flavor", pure=True):
            return self.flavors.get(flavor_id)

    def copy_flavor(
        self, flavor_id: str, copy_id: str, name: str, properties: Mapping[str, str | None]
    ) -> None:
        with self._call("copy_flavor"):
            specs = {**self.flavors[flavor_id].properties, **properties}
            kept = {key: value for key, value in specs.items() if value is not None}
            self.flavors[copy_id] = FlavorState(copy_id, name, kept)

    def flavor_servers(self, flavor_id: str) -> int:
        with self._call("flavor_servers", pure=True):
            return self.flavor_users if flavor_id != FLAVOR else 9

    def delete_flavor(self, flavor_id: str) -> None:
        with self._call("delete_flavor"):
            del self.flavors[flavor_id]

    def close(self) -> None:
        """Nothing is open."""

    # -- what is asked of nova-manage

    def manage(self, arguments: Sequence[str]) -> CommandOutput:
        """Takes its time; the state is looked at before, what is kept is saved at the end: of the
        instance, then of its request specification."""
        if tuple(arguments) == ("version",):
            return self._managed(
                "version", lambda: CommandOutput(0, f"{self.manages}\n"), lambda: None
            )
        _category, verb, server_id, *words = arguments
        found = self._of(server_id)
        if verb == "show":
            return self._managed("show", lambda: _shown(found, words[0]), lambda: None)
        if verb == "set" and found.deleted:
            return self._managed("set", lambda: _nobody(found), lambda: None)
        new = dict(word.split("=") for word in words if word != "--property")
        return self._set(found, new)

    def _set(self, found: Server, new: Mapping[str, str]) -> CommandOutput:
        fault = self.faults.get("set")

        def save() -> None:
            found.kept.update(new)
            self.passing("between set")
            if not (fault is not None and fault.now and fault.ending == "between"):
                found.requested.update(new)

        return self._managed(
            "set", lambda: _settable(found), save, lambda: found.later(
                LANDS_SECONDS, lambda: found.keep(new))
        )  # fmt: skip

    def _managed(
        self, name: str, says: Callable[[], CommandOutput], does: Callable[[], None],
        lands: Callable[[], None] = lambda: None,
    ) -> CommandOutput:  # fmt: skip
        self.calls.append(name)
        self.passing(f"before {name}")
        fault = self.faults.get(name)
        due = fault is not None and fault.due()
        if fault is not None and due and fault.ending == "before":
            return _raised(fault.error)
        said = says()
        if said.code == 0:
            try:
                self.passing(f"within {name}")
            except Killed:  # it goes on there, for whoever asked for it is not needed
                lands()
                raise
            self.clock.sleep(MANAGE_SECONDS)
            does()
        self.passing(f"behind {name}")
        return _raised(fault.error) if fault is not None and due else said

    # -- what goes wrong

    def _of(self, server_id: str) -> Server:
        (found,) = (one for one in self.servers if one.id == server_id)
        found.catch_up()
        return found

    def _asked(self, name: str, server_id: str, what: Callable[[Server], None]) -> None:
        found = self._of(server_id)

        def land() -> None:
            try:
                what(found)
            except ActionError:
                return

        with self._call(name, land=lambda: found.later(LANDS_SECONDS, land)):
            what(found)

    @contextmanager
    def _call(
        self, name: str, *, pure: bool = False, land: Callable[[], None] | None = None
    ) -> Iterator[None]:
        """``land``: has the request arrive though nobody waits for its answer any more."""
        if not pure:
            self.calls.append(name)
        for one in self.servers:
            one.catch_up()
        if self.on_its_way is not None and self.clock.seconds >= self.on_its_way[0]:
            _at, land_now = self.on_its_way
            self.on_its_way = None
            land_now()
        self.passing(f"before {name}")
        if land is not None:
            try:
                self.passing(f"within {name}")
            except Killed:
                land()
                raise
        fault = self.faults.get(name)
        due = fault is not None and fault.due()
        if fault is not None and due and fault.ending == "before":
            _raised(_of_question(fault.error) if pure else fault.error)
        yield
        if fault is not None and due:
            _raised(_of_question(fault.error) if pure else fault.error)
        if not pure:
            self.passing(f"behind {name}")


def _of_question(error: Exception | CommandOutput) -> Exception | CommandOutput:
    """A question that is answered with 500 is asked again, and counts as one without an answer; an
    order is not (``get`` and ``send`` in vnicaudit/platforms/openstack/client.py)."""
    return NoResponseError(str(error)) if error is BROKEN else error


def _raised(error: Exception | CommandOutput) -> CommandOutput:
    if isinstance(error, CommandOutput):
        return error
    raise error


def _nobody(found: Server) -> CommandOutput:
    return CommandOutput(2, f"Instance {found.id} not found.\n")


def _shown(found: Server, name: str) -> CommandOutput:
    if found.deleted:
        return _nobody(found)
    if name in found.kept:
        return CommandOutput(0, f"{found.kept[name]}\n", "Eventlet is deprecated.\n")
    return CommandOutput(3, f"Image property {name} not found for instance {found.id}.\n")


def _settable(found: Server) -> CommandOutput:
    found.catch_up()
    if found.vm_state not in ("stopped", "shelved", "shelved_offloaded"):
        return CommandOutput(
            3,
            f"Instance {found.id} in vm_state {found.vm_state}. Cannot image_property set (must be "
            "STOPPED, SHELVED, OR SHELVED_OFFLOADED). while the instance is in this state.\n",
        )
    return CommandOutput(0)


def server_step(found: Server, new: Mapping[str, str] | None = None, **part: Any) -> Step:
    """One server's step, as ``vnicaudit plan`` makes it."""
    properties: dict[str, str | None] = {**(new or {MODEL: "virtio"})}
    old = {name: found.kept.get(name) for name in properties}
    step = _step("server", found.name, found.id, old, properties, macs=(found.mac,), **part)
    return replace(step, running=found.vm_state == "active")


def image_step(world: CloudWorld, properties: dict[str, str | None]) -> Step:
    """One image's step."""
    old = {name: world.image.get(name) for name in properties}
    return _step("image", "legacy", IMAGE, old, properties)


def flavor_step(world: CloudWorld, properties: dict[str, str | None]) -> Step:
    """One flavor's step."""
    old = {name: world.flavors[FLAVOR].properties.get(name) for name in properties}
    return _step("flavor", "m1.small", FLAVOR, old, properties, new_name="m1.small-multiqueue")


def _step(
    kind: Literal["server", "image", "flavor"], name: str, id: str,
    old: dict[str, str | None], new: dict[str, str | None], **part: Any,
) -> Step:  # fmt: skip
    return Step(
        id=f"{name}",
        target=TARGET,
        about=Ref(kind, name, id),
        owner="nova",
        to="virtio",
        rules=("VNIC001",),
        changes=(Change("model", "rtl8139", "virtio", safe=True),),
        readiness="ready",
        safe=True,
        reason="",
        running=True,
        modes=tuple(ModeOption(mode, possible=True) for mode in MODES),
        digest=kept_digest(kind, id, old),
        diff=diff(name, old, new),
        unit=_UNITS[kind](new, old, **part),
    )


_UNITS = {"server": ServerUnit, "image": ImageUnit, "flavor": FlavorUnit}


def installed(world: CloudWorld, monkeypatch: pytest.MonkeyPatch) -> CloudWorld:
    """Have the product work on it."""
    watch(world, monkeypatch)
    return world


SILENT = NoResponseError("the cloud did not answer within 30 s")
BROKEN = ActionError("Nova answered 500: Unexpected API Error")
CONFLICT = ActionError("Nova answered 409: the server is in task_state image_uploading")
