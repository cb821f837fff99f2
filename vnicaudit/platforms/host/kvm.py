"""Can ``/dev/kvm`` be used here?

Opening it successfully is not enough: on some hosts the device opens without hardware
virtualization (seen: the ``kvm_pvm`` module on a CPU without vmx or svm, where QEMU 7.2 dies with
``-cpu host``). ``virt-host-validate`` checks the same CPU features.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from vnicaudit.platforms.host.tree import Tree

_FEATURE = {"x86_64": ("vmx", "svm"), "i686": ("vmx", "svm"), "s390x": ("sie",)}
"""Words in /proc/cpuinfo that show hardware virtualization; there are none for other
architectures."""


def hardware(cpuinfo: str | None, arch: str) -> bool | None:
    """True if ``/proc/cpuinfo`` lists hardware virtualization, False if its features lack it; None
    if the text has no features, or those of this architecture are unknown."""
    wanted = _FEATURE.get(arch)
    if wanted is None or cpuinfo is None:
        return None
    for line in cpuinfo.splitlines():
        name, _, words = line.partition(":")
        if name.strip() in ("flags", "features"):
            return any(word in wanted for word in words.split())
    return None


def judge(
    *, device: bool | None, loaded: bool | None, opened: bool | None, cpu: bool | None
) -> bool | None:
    """True: KVM exists and works. False: there is no device. None: unknown."""
    if device is False:
        return False
    if device is None or not loaded or opened is None:
        return None
    return opened and (True if cpu else None)


def read_kvm(tree: Tree, arch: str) -> bool | None:
    """Read whether KVM can be used. The device is opened only if the module is loaded, since
    opening loads it."""
    device = tree.exists("/dev/kvm")
    loaded = tree.exists("/sys/module/kvm")
    opened = can_open(tree.path("/dev/kvm")) if device and loaded else None
    cpu = hardware(tree.text("/proc/cpuinfo"), arch)
    return judge(device=device, loaded=loaded, opened=opened, cpu=cpu)


def can_open(path: Path) -> bool | None:
    """True if a character device opens for reading and writing; None if permission is denied."""
    try:
        if not stat.S_ISCHR(path.stat().st_mode):
            return False
        os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC))
    except PermissionError:
        return None
    except OSError:
        return False
    return True
