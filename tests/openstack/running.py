"""Bring the cloud up, use one that is up, take it down."""

import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from tests.openstack import daemons, machine, namespaces, packages
from tests.openstack.cloud import Cloud
from tests.openstack.images import seed
from tests.openstack.machine import Machine
from tests.openstack.namespaces import Namespaces
from tests.rig.errors import Missing
from tests.rig.process import log, wait_for

_SECONDS = 3600


def folder() -> Path:
    """Where packages and state are: VNICAUDIT_OPENSTACK, or a folder in /var/tmp."""
    home = Path(os.environ.get("VNICAUDIT_OPENSTACK", "/var/tmp/vnicaudit-openstack"))
    home.mkdir(parents=True, exist_ok=True)
    return home


@contextmanager
def running_cloud(*, keep: bool | None = None) -> Iterator[Cloud]:
    """A cloud: one that is up, or one brought up now, which is taken down at the end unless kept.

    A session that would take it down waits for the others that use it.
    """
    if os.geteuid():
        raise Missing("an OpenStack with real guests needs root")
    if keep is None:
        keep = "VNICAUDIT_OPENSTACK_KEEP" in os.environ
    home = folder()
    with (home / "lock").open("w") as lock:
        found = _existing_or_alone(home, lock)
        cloud = found or _bring_up(home, keep=keep)
        try:
            fcntl.flock(lock, fcntl.LOCK_SH)
            yield cloud
        finally:
            if not (found or keep):
                _take_down(home, cloud.machine.namespaces, lock)


def existing(home: Path) -> Cloud | None:
    """The cloud that is up, if one is."""
    pid = home / "pid"
    if not pid.exists() or not pid.read_text():
        return None
    inside = Namespaces(int(pid.read_text()))
    if not inside.exist():
        return None
    return Cloud(Machine(inside, home / "state", home / "venv"))


def _existing_or_alone(home: Path, lock: TextIO) -> Cloud | None:
    """The cloud that is up, which is shared from now on; None: nobody else has one."""

    def looked() -> bool:
        fcntl.flock(lock, fcntl.LOCK_SH)
        if existing(home) is not None:
            return True
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # it is being brought up, or taken down
            fcntl.flock(lock, fcntl.LOCK_UN)
            return False
        return True

    wait_for(looked, "the cloud is up, or nobody's", seconds=_SECONDS)
    return existing(home)


def take_down(home: Path) -> None:
    """Take a cloud down that is up."""
    cloud = existing(home)
    if cloud is not None:
        with (home / "lock").open("w") as lock:
            _take_down(home, cloud.machine.namespaces, lock)


def _bring_up(home: Path, *, keep: bool) -> Cloud:
    daemons.require_programs()
    began = time.monotonic()
    state, environment, nova = home / "state", packages.installed(home), packages.nova(home)
    shutil.rmtree(state, ignore_errors=True)
    machine.write_configuration(state, environment, nova)
    inside = namespaces.make(keep=keep)
    (home / "pid").write_text(str(inside.pid))
    try:
        cloud = Cloud(Machine(inside, state, environment))
        daemons.start_all(cloud.machine)
        seed(cloud.api)
        daemons.wait_for_host(cloud.machine)
    except BaseException:
        inside.end()
        raise
    log(f"openstack: up in {time.monotonic() - began:.0f} s")
    return cloud


def _take_down(home: Path, inside: Namespaces, lock: TextIO) -> None:
    fcntl.flock(lock, fcntl.LOCK_EX)
    inside.end()
    (home / "pid").unlink()
    shutil.rmtree(home / "state")
