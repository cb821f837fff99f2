"""Servers of the cloud: make them, move them from state to state, ask libvirt and the guest."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree

from tests.rig.errors import RigError
from tests.rig.guests import PANICKED, UP
from tests.rig.process import log, wait_for

if TYPE_CHECKING:
    from tests.openstack.cloud import Cloud

_SECONDS = 600
_BOOT_SECONDS = 300
"""A guest that is not up by then hangs: it takes some 10 s, and a minute on a busy machine."""
_PAUSE = 0.3
"""Seconds more between two questions to Nova, which asks Keystone and Neutron for each answer."""
_UNDEFINED = "failed to get domain"
_NIC = re.compile(r"^NIC mac=(\S+) driver=(\S+) queues=(\d+)", re.MULTILINE)


class GuestNic(NamedTuple):
    """A NIC in the guest's own words: MAC address, the driver that serves it, receive queues."""

    mac: str
    driver: str
    queues: int


class Server:
    """A server, by its id."""

    def __init__(self, cloud: Cloud, identity: str) -> None:
        self.cloud = cloud
        self.id = identity

    @property
    def record(self) -> Any:
        """What Nova says of it now."""
        return self.cloud.api.compute.get_server(self.id)

    @property
    def name(self) -> str:
        return str(self.record.name)

    @property
    def domain(self) -> str:
        """Its name in libvirt."""
        return str(self.record.instance_name)

    def wait(self, status: str) -> None:
        """Wait until it is in this state (ACTIVE, SHUTOFF), with no task under way."""
        fact = _unhurried(lambda: self._is(status))
        wait_for(fact, f"server {self.id} is {status}", seconds=_SECONDS)

    def stop(self) -> None:
        self.cloud.api.compute.stop_server(self.id)
        self.wait("SHUTOFF")

    def start(self) -> None:
        self.cloud.api.compute.start_server(self.id)
        self.wait("ACTIVE")

    def hard_reboot(self) -> None:
        self.cloud.api.compute.reboot_server(self.id, "HARD")
        self.wait("ACTIVE")

    def xml(self, *, inactive: bool = False) -> str:
        """Its domain XML. At each start Nova undefines the domain and defines it again; a
        nova-compute that has been started again may do so behind an ACTIVE."""
        name, options = self.domain, ["--inactive"] if inactive else []

        def defined() -> str:
            try:
                return self.cloud.machine.output("virsh", "--quiet", "dumpxml", *options, name)
            except RigError as error:
                if _UNDEFINED not in str(error):
                    raise
                return ""

        return wait_for(defined, f"{name} is defined", seconds=_SECONDS)

    def interface(self) -> ElementTree.Element:
        """Its only NIC in domain XML."""
        (found,) = ElementTree.fromstring(self.xml()).findall("devices/interface")
        return found

    def model(self) -> str | None:
        """That NIC's model."""
        model = self.interface().find("model")
        return None if model is None else model.get("type")

    def driver(self) -> dict[str, str]:
        """What that NIC's <driver> says."""
        driver = self.interface().find("driver")
        return {} if driver is None else dict(driver.items())

    def nics(self) -> list[GuestNic]:
        """What the guest says on its console about its NICs, once it is up.

        One whose kernel panics on the way, or that hangs, is reset, once: where two emulated CPUs
        run, one may still run code that the other has patched.
        """
        said = self._first_words(0, _BOOT_SECONDS)
        if UP not in said:
            log(f"the guest of {self.id} is reset; its console ended with:\n{said[-2000:]}")
            self.cloud.machine.output("virsh", "--quiet", "reset", self.domain)
            said = self._first_words(len(said), _SECONDS)
        if UP not in said:
            raise RigError(f"the guest of {self.id} did not come up twice:\n{said[-4000:]}")
        return [GuestNic(mac, driver, int(queues)) for mac, driver, queues in _NIC.findall(said)]

    def console(self) -> str:
        """All that the guest said since it was started: virtlogd begins anew each time."""
        path = self.cloud.machine.state / f"nova/cmp1/{self.id}/console.log"
        try:
            return path.read_text(errors="replace").replace("\r", "")
        except FileNotFoundError:
            return ""

    def delete(self) -> None:
        """Delete it; it may be gone already. Nova does the rest behind this."""
        self.cloud.api.compute.delete_server(self.id, ignore_missing=True, force=False)

    def wait_until_gone(self) -> None:
        wait_for(_unhurried(self._gone), f"server {self.id} is gone", seconds=_SECONDS)

    def _is(self, status: str) -> bool:
        if self._is_busy():
            return False
        record = self.record
        if record.status == "ERROR":
            raise RigError(f"server {self.id} is in error: {record.fault}")
        return bool(record.status == status and record.task_state is None)

    def _is_busy(self) -> bool:
        """Whether Nova's database says that it is at work on it, or has not come to it: an answer
        of Nova's own takes four times the CPU."""
        rows = self.cloud.sql(
            "select ifnull(task_state, ''), vm_state from nova.instances"
            f" where uuid='{self.id}' and deleted=0"
        )
        return any(task or state == "building" for task, state in rows)

    def _first_words(self, after: int, seconds: float) -> str:
        """The console from there on, once the guest is up, its kernel has panicked, or the time is
        over."""

        def ended() -> str:
            said = self.console()[after:]
            return said if UP in said or PANICKED in said else ""

        try:
            return wait_for(ended, f"the guest of {self.id} is up", seconds=seconds)
        except RigError:
            return self.console()[after:]

    def _gone(self) -> bool:
        if self._is_busy():
            return False
        listed = self.cloud.api.compute.servers(details=False, all_projects=True)
        return self.id not in {one.id for one in listed}


def _unhurried(fact: Callable[[], bool]) -> Callable[[], bool]:
    """That question, with a pause behind each no."""

    def ask() -> bool:
        answer = fact()
        if not answer:
            time.sleep(_PAUSE)
        return answer

    return ask


def create(
    cloud: Cloud, image: str, flavor: str, network: str, *, name: str = "", **more: str
) -> Server:
    """A server with one port that Nova has been asked for; ``more`` is of that request."""
    api = cloud.api
    record = api.compute.create_server(
        name=name or cloud.new_name(),
        image_id=api.image.find_image(image, ignore_missing=False).id,
        flavor_id=api.compute.find_flavor(flavor, ignore_missing=False).id,
        networks=[{"uuid": api.network.find_network(network, ignore_missing=False).id}],
        **more,
    )
    return Server(cloud, record.id)


class ServerFactory:
    """Makes servers, and removes them at the end."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud
        self._made: list[Server] = []

    def __call__(
        self, image: str, flavor: str = "m1", *, network: str = "net", wait: bool = True
    ) -> Server:
        """A server with one port: running, or (without ``wait``) on its way."""

        def make() -> Server:
            self._made.append(server := create(self._cloud, image, flavor, network))
            if wait:
                server.wait("ACTIVE")
            return server

        try:
            return make()
        except RigError:
            # once: the machine may have been too busy for one of Nova's timeouts
            return make()

    def remove(self) -> None:
        """Have all removed that were made. Nova does it behind this, and nobody waits for it."""
        for server in self._made:
            server.delete()
