"""Can libvirt open ``/dev/vhost-net``?

The module loads itself when the device is opened (alias ``devname:vhost-net``), so a module that
is not loaded is not a module that is missing. The device itself is made at boot from
``modules.devname``, or when the module is loaded.
"""

from __future__ import annotations

import re

from vnicaudit.platforms.host.tree import Tree

DEVICE = "/dev/vhost-net"
_LISTED = re.compile(r"(?:^|/)vhost[_-]net\.ko(?:\.\w+)?(?::|$)", re.MULTILINE)

_CONFIGURED = re.compile(r"^CONFIG_VHOST_NET=[ym]$", re.MULTILINE)


def listed(modules: str) -> bool:
    """Whether ``modules.dep`` or ``modules.builtin`` names the module, compressed or not."""
    return _LISTED.search(modules) is not None


def configured(config: str) -> bool:
    """Whether a kernel configuration builds vhost-net, as a module or in."""
    return _CONFIGURED.search(config) is not None


def judge(*, device: bool | None, loaded: bool | None, available: bool | None) -> bool | None:
    """True: opening the device works. False: neither device nor module exist. None: the device
    or the module is there without the other, or one of them cannot be seen (in a container, for
    example)."""
    if device and available is not False:
        return True
    if loaded:
        return True
    return False if device is False and available is False else None


def read_vhost_net(tree: Tree, release: str) -> bool | None:
    """The fact, for the running kernel's ``release``."""
    loaded = tree.exists("/sys/module/vhost_net")
    return judge(device=tree.exists(DEVICE), loaded=loaded, available=_available(tree, release))


def _available(tree: Tree, release: str) -> bool | None:
    """Whether the kernel has the module; None when neither its configuration (/proc/config.gz,
    not on every distribution) nor the lists of its modules say."""
    config = tree.text("/proc/config.gz")
    if config is not None and not configured(config):
        return False
    folder = f"/lib/modules/{release}"
    lists = [tree.text(f"{folder}/{name}") for name in ("modules.dep", "modules.builtin")]
    known = [text for text in lists if text is not None]
    if any(listed(text) for text in known):
        return True
    return False if len(known) == len(lists) else None
