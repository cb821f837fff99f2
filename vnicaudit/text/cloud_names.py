"""Names by which a user calls a cloud (``CLOUD``, or ``CLOUD/REGION`` for one region of it), and
commands for that cloud, shown for copying: somebody may have several clouds."""

from __future__ import annotations

from collections.abc import Container

from vnicaudit.base.shell import word

CLOUD = "openstack:"
"""Prefix of a target that is a cloud of clouds.yaml."""
ENVIRONMENT = "envvars"
"""Name of the cloud that the ``OS_*`` variables describe (openstacksdk, ``OS_CLOUD_NAME``)."""


def cloud_and_region(name: str, clouds: Container[object] = ()) -> tuple[str, str]:
    """The cloud and its region (``""`` if none is named). ``clouds`` are the existing names: if one
    of them contains a slash, its second part is no region."""
    cloud, slash, region = name.rpartition("/")
    return (cloud, region) if slash and name not in clouds else (name, "")


def client(target: str) -> str:
    """``openstack`` with the options that select a target, ``openstack:CLOUD``; without options if
    the target is the one of the environment, or unknown."""
    cloud, region = cloud_and_region(target.partition(":")[2])
    which = f" --os-cloud {word(cloud)}" if cloud not in ("", ENVIRONMENT) else ""
    where = f" --os-region-name {word(region)}" if region else ""
    return f"openstack{which}{where}"
