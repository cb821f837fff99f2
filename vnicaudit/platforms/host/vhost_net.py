"""Can libvirt open ``/dev/vhost-net``, and is its zero-copy transmit on (a module parameter, off by
default)?

The module loads itself when the device is opened (alias ``devname:vhost-net``), so it need not be
loaded yet. The device itself is created at boot from ``modules.devname``, or when the module is
loaded.
"""

from __future__ import annotations

import re

from vnicaudit.platforms.host.tree import Tree

DEVICE = "/dev/vhost-net"
_LISTED = re.compile(r"(?:^|/)vhost[_-]net\.ko(?:\.\w+)?(?::|$)", re.MULTILINE)

_CONFIGURED = re.compile(r"^CONFIG_VHOST_NET=[ym]$", re.MULTILINE)


def listed(modules: str) -> bool:
    """True if ``modules.dep`` or ``modules.builtin`` lists the module, compressed or not."""
    return _LISTED.search(modules) is not None


def configured(config: str) -> bool:
    """True if a kernel configuration has vhost-net, as a module or built in."""
    return _CONFIGURED.search(config) is not None


def judge(*, device: bool | None, loaded: bool | None, available: bool | None) -> bool | None:
    """True: opening the device works. False: neither device nor module exist. None: only one of the
    two exists, or one of them cannot be seen (in a container, for example)."""
    if device and available is not False:
        return True
    if loaded:
        return True
    return False if device is False and available is False else None


def read_vhost_net(tree: Tree, release: str) -> bool | None:
    """Read whether vhost-net can be opened, for the running kernel's ``release``."""
    loaded = tree.exists("/sys/module/vhost_net")
    return judge(device=tree.exists(DEVICE), loaded=loaded, available=_available(tree, release))


def _available(tree: Tree, release: str) -> bool | None:
    """True if the kernel has the module; None if neither its configuration (/proc/config.gz, not on
    every distribution) nor the lists of its modules tell."""
    config = tree.text("/proc/config.gz")
    if config is not None and not configured(config):
        return False
    folder = f"/lib/modules/{release}"
    lists = [tree.text(f"{folder}/{name}") for name in ("modules.dep", "modules.builtin")]
    known = [text for text in lists if text is not None]
    if any(listed(text) for text in known):
        return True
    return False if len(known) == len(lists) else None


_PARAMETER = "/sys/module/vhost_net/parameters/experimental_zcopytx"


def parse(text: str) -> bool | None:
    """Off or on, from ``0``/``1`` (an int parameter) or ``N``/``Y``; None for anything else."""
    word = text.strip()
    if word in ("0", "N"):
        return False
    return True if word in ("1", "Y") else None


def read_zerocopy(tree: Tree) -> bool | None:
    """Read whether zero-copy transmit is on; None while the module is not loaded."""
    text = tree.text(_PARAMETER)
    return None if text is None else parse(text)
