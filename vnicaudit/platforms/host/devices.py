"""Device files a NIC may name: custom vhost devices, vhost-vDPA devices."""

from __future__ import annotations

from collections.abc import Iterable

from vnicaudit.platforms.host.tree import Tree

_VDPA_BUS = "/sys/bus/vdpa/devices"


def read_paths(tree: Tree, paths: Iterable[str]) -> tuple[tuple[str, bool], ...]:
    """Path -> does it exist, for every vhost-vDPA device of the host and for ``paths``. Left out:
    relative paths, and what cannot be seen."""
    own = {f"/dev/{name}" for name in tree.names("/dev") if name.startswith("vhost-vdpa-")}
    asked = {path for path in paths if path.startswith("/") and "\0" not in path}
    answers = ((path, tree.exists(path)) for path in sorted(own | asked))
    return tuple((path, there) for path, there in answers if there is not None)


def read_vdpa_drivers(tree: Tree) -> tuple[tuple[str, str], ...]:
    """vDPA device -> driver (``vhost_vdpa``, ``virtio_vdpa``; ``""`` when bound to none)."""
    return tuple(
        (name, tree.link_name(f"{_VDPA_BUS}/{name}/driver") or "") for name in tree.names(_VDPA_BUS)
    )
