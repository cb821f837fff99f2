"""Where units of a cloud are."""

from __future__ import annotations

from typing import NamedTuple

from vnicaudit.remedy.applying.clouds.nodes import Nodes
from vnicaudit.remedy.applying.clouds.nova_manage import Manage
from vnicaudit.remedy.cloud import Cloud


class Place(NamedTuple):
    """Where a unit of a cloud is. ``thorough``: nova-manage is asked about each server before it is
    stopped, not once."""

    cloud: Cloud
    manage: Manage
    nodes: Nodes
    thorough: bool
