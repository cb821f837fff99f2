"""The running cloud, as tests use it."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from tests.cli.command import SCRIPT, as_in_a_shell
from tests.openstack.api import Api
from tests.openstack.daemons import start_nova_api
from tests.openstack.machine import CREDENTIALS, Machine
from tests.rig.errors import RigError
from tests.rig.process import wait_for

TENANT = {**CREDENTIALS, "OS_USERNAME": "tenant", "OS_PROJECT_NAME": "tenant"}
"""Credentials of a user who has one project, and no more rights than anybody in it."""
_LONGEST = 900
"""Seconds for a program that an operator runs: they end a test that hangs."""
_PATIENT = {"VNICAUDIT_DEADLINE": "120"}
"""An answer of Nova beside emulated guests may take longer than the product waits by itself."""
_NOT_INSIDE = re.compile(r"VNICAUDIT_.*|.*_proxy", re.IGNORECASE)


class Cloud:
    """A real OpenStack with one compute host, cmp1. ``clouds.yaml`` in its /etc has two names for
    it: admin and tenant."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.api = Api(machine.namespaces, CREDENTIALS)
        """Asked as the administrator."""
        self._numbers = count(1)

    @property
    def nova_conf(self) -> Path:
        """nova.conf of the compute host, as seen from outside."""
        return self.machine.namespaces.root / "etc/nova/nova.conf"

    def tenant(self) -> Api:
        """Asked as the tenant."""
        return Api(self.machine.namespaces, TENANT)

    def new_name(self) -> str:
        """For something a test makes."""
        return f"test-{os.getpid()}-{next(self._numbers)}"

    def run(
        self, *argv: str | Path, env: Mapping[str, str] | None = None, timeout: float = _LONGEST
    ) -> subprocess.CompletedProcess[str]:
        """How a program ended that an operator runs on the cloud's machine, as administrator.

        OpenStack's own programs (nova-manage) are in its PATH.
        """
        return self.machine.namespaces.run(
            *argv, env={**self.environment(), **(env or {})}, timeout=timeout
        )

    def vnicaudit(
        self, *words: str | Path, env: Mapping[str, str] | None = None, timeout: float = _LONGEST
    ) -> subprocess.CompletedProcess[str]:
        """Run ``vnicaudit`` there: targets openstack:envvars, openstack:admin, openstack:tenant."""
        given, named = as_in_a_shell(words)
        return self.run(
            sys.executable, SCRIPT, *given, env={**named, **(env or {})}, timeout=timeout
        )

    def nova_manage(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run ``nova-manage`` there."""
        return self.run("nova-manage", *arguments)

    @contextmanager
    def compute(self, **options: str) -> Iterator[None]:
        """The compute host with these values in nova.conf's [libvirt] while the block runs.

        Requests wait in RabbitMQ until nova-compute is back.
        """
        before = self.nova_conf.read_text()
        text = before
        for name, value in options.items():
            text = re.sub(rf"^{name} = .*\n", "", text, flags=re.MULTILINE)
            text = text.replace("[libvirt]\n", f"[libvirt]\n{name} = {value}\n")
        self._configure(text)
        try:
            yield
        finally:
            self._configure(before)

    def sql(self, statement: str) -> list[list[str]]:
        """The rows that the cloud's database answers."""
        return self.machine.sql(statement)

    def wait_for_deletions(self) -> None:
        """Return when Nova is deleting no server."""
        deleted = "select uuid from nova.instances where deleted=0 and task_state='deleting'"
        wait_for(lambda: not self.sql(deleted), "nothing is being deleted")

    def _configure(self, text: str) -> None:
        self.wait_for_deletions()
        self.nova_conf.write_text(text)
        self.machine.stop("nova-compute")
        self.start_compute()

    def start_compute(self) -> None:
        """Start nova-compute, which is not there."""
        self.machine.start("nova-compute", "nova-compute")

    def start_api(self) -> None:
        """Start Nova's API, which is not there."""
        start_nova_api(self.machine)
        self.machine.wait_for_port(8774)

    def environment(self) -> dict[str, str]:
        """For programs that run there: this process's, and who they are to the cloud."""
        kept = {k: v for k, v in os.environ.items() if not _NOT_INSIDE.fullmatch(k)}
        ours, nova = Path(sys.executable).parent, self.machine.nova
        path = f"{ours}:{os.environ['PATH']}:{nova}/bin:{self.machine.packages}/bin"
        return {**kept, **CREDENTIALS, "PATH": path, "COLUMNS": "100", **_PATIENT}


def wait_for_service(cloud: Cloud, host: str) -> None:
    """Wait until Nova can place servers on a compute host."""
    # imported here: the plugin is loaded by suites that have no openstacksdk
    from openstack.exceptions import HttpException

    compute = cloud.api.compute

    def hypervisor() -> bool:
        try:
            found = list(compute.hypervisors(details=True))
        except HttpException:  # Nova asks each host how long it is up: one that starts is silent
            return False
        return any(one.service_details["host"] == host for one in found)

    try:
        wait_for(hypervisor, f"{host} is a hypervisor")
    except RigError as error:
        raise RigError(f"{error}; see {cloud.machine.state}/log") from error
