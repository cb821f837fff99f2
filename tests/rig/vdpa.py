"""A vDPA device in L1: real kernel vhost-vDPA, served by VDUSE and DPDK."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.rig.errors import RigError
from tests.rig.l1 import L1, RIG
from tests.rig.process import log

DEVICE = "/dev/vhost-vdpa-0"
_FILES = f"{RIG}/tests/rig/files"


@contextmanager
def vdpa_device(l1: L1) -> Iterator[str]:
    """A vDPA device on L1's bridge for <interface type='vdpa'>: its path, DEVICE.

    One that does not come up is tried once more.
    """
    try:
        try:
            _bring_up(l1)
        except RigError as error:
            log(f"the vDPA device is tried once more, because {error}")
            _take_down(l1)
            _bring_up(l1)
        yield DEVICE
    finally:
        _take_down(l1)


def _bring_up(l1: L1) -> None:
    l1.run(["sh", f"{_FILES}/vdpa-up.sh"], timeout=600).output()


def _take_down(l1: L1) -> None:
    l1.run(["sh", f"{_FILES}/vdpa-down.sh"])
