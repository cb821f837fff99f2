"""Names by which a user calls a cloud: ``CLOUD``, or one region of it, ``CLOUD/REGION``; and
commands on it that are shown to be copied: somebody may have several clouds."""

from __future__ import annotations

from collections.abc import Container

from vnicaudit.base.shell import word

CLOUD = "openstack:"
"""Before the name of a cloud in clouds.yaml, where it is a target."""
ENVIRONMENT = "envvars"
"""The cloud that the ``OS_*`` variables are (openstacksdk, ``OS_CLOUD_NAME``)."""


def cloud_and_region(name: str, clouds: Container[object] = ()) -> tuple[str, str]:
    """The cloud and its region; ``""``: none is named. ``clouds`` are names that there are: one of
    them may have a slash in it, and is no region."""
    cloud, slash, region = name.rpartition("/")
    return (cloud, region) if slash and name not in clouds else (name, "")


def client(target: str) -> str:
    """``openstack`` with the options that lead to a target, ``openstack:CLOUD``; alone where the
    target is what the environment says, or none is known."""
    cloud, region = cloud_and_region(target.partition(":")[2])
    which = f" --os-cloud {word(cloud)}" if cloud not in ("", ENVIRONMENT) else ""
    where = f" --os-region-name {word(region)}" if region else ""
    return f"openstack{which}{where}"
