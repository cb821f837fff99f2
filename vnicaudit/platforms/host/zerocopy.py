"""Is zero-copy transmit of vhost-net on? (module parameter, off by default)"""

from __future__ import annotations

from vnicaudit.platforms.host.tree import Tree

_PARAMETER = "/sys/module/vhost_net/parameters/experimental_zcopytx"


def parse(text: str) -> bool | None:
    """``0``/``1`` (an int parameter) or ``N``/``Y`` -> off or on; None for anything else."""
    word = text.strip()
    if word in ("0", "N"):
        return False
    return True if word in ("1", "Y") else None


def read_zerocopy(tree: Tree) -> bool | None:
    """The fact; None while the module is not loaded."""
    text = tree.text(_PARAMETER)
    return None if text is None else parse(text)
