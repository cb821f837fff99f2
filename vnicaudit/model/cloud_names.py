"""What a user calls a cloud: ``CLOUD``, or one region of it, ``CLOUD/REGION``."""

from __future__ import annotations

from collections.abc import Container

ENVIRONMENT = "envvars"
"""The cloud that the ``OS_*`` variables are (openstacksdk, ``OS_CLOUD_NAME``)."""


def cloud_and_region(name: str, clouds: Container[object] = ()) -> tuple[str, str]:
    """The cloud and its region; ``""``: none is named. ``clouds`` are names that there are: one of
    them may have a slash in it, and is no region."""
    cloud, slash, region = name.rpartition("/")
    return (cloud, region) if slash and name not in clouds else (name, "")
