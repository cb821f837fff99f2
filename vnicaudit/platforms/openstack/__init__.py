"""OpenStack: servers, ports, images and flavors from the API of a cloud, and changes of them.

``config_files.py`` reads a cloud's configuration, ``connect.py`` logs in to it, ``client.py`` is
the one place that sends requests to services.

Reading (``read.py``): ``listing.py`` defines lists, follows their pages and collects their items;
``servers.py`` (and flavors), ``images.py``, ``network.py`` and ``lists.py`` are the lists that
exist, each with the record for its items. ``images.py`` makes a domain from a server, ``guest.py``
its parts, and tells which NIC an image's ``os_distro`` results in.

Changing (``control.py``): the current state of a server, copies of flavors, and what changes them.

This module recognises targets that are a cloud; whatever reads them needs openstacksdk, which is
slow to load, and is imported on first use.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from vnicaudit.errors import UsageError
from vnicaudit.text.targets import ALL_REGIONS, CLOUD

if TYPE_CHECKING:
    from vnicaudit.model.fleet import LiveOptions
    from vnicaudit.model.runs import ComputeNode
    from vnicaudit.platforms.openstack.read import CloudItems


def cloud_of(name: str) -> str | None:
    """The name of a cloud, from OS_CLOUD if the target has none; None if the target is not a cloud.
    Raises UsageError if neither names one, or if no region follows the slash."""
    if not name.startswith(CLOUD):
        return None
    cloud, slash, region = name.removeprefix(CLOUD).strip().partition("/")
    if slash and not name.rpartition("/")[2].strip():
        alone = name.rstrip("/ ")
        raise UsageError(
            f"{name}: the region after the slash is missing; write {alone} for the configured "
            f"region, or {alone}/* for all of them"
        )
    if cloud:
        return name
    if chosen := os.environ.get("OS_CLOUD", "").strip():
        return f"{CLOUD}{chosen}{slash}{region}"
    raise UsageError(
        f"{name}: the cloud is missing; write openstack:NAME with a name from clouds.yaml (or set "
        "OS_CLOUD), or openstack:envvars to use the OS_* variables"
    )


def regions(name: str, live: LiveOptions) -> list[str]:
    """The targets for a name, see :func:`vnicaudit.platforms.openstack.read.regions_of`."""
    if not name.endswith(ALL_REGIONS) and not os.environ.get("OS_REGION_NAME"):
        return [name]
    from vnicaudit.platforms.openstack.read import regions_of

    return regions_of(name, live)


def read_cloud(target: str, live: LiveOptions) -> CloudItems:
    """Everything in a cloud."""
    from vnicaudit.platforms.openstack.read import CloudItems

    return CloudItems(target, live)


def cloud_nodes(name: str, live: LiveOptions) -> list[ComputeNode]:
    """The hosts of a cloud that run its servers, by its hypervisors. Raises TargetError if this
    user may not list them."""
    from vnicaudit.platforms.openstack.lists import compute_nodes_of

    cloud = name.removeprefix(CLOUD)
    return compute_nodes_of(cloud, deadline=live.deadline, total=live.cloud)


def check() -> None:
    """Raises MissingExtraError if openstacksdk is missing."""
    import vnicaudit.platforms.openstack.session as binding

    del binding
