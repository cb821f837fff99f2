"""The working context of the driver for servers, images and flavors."""

from __future__ import annotations

from typing import NamedTuple

from vnicaudit.remedy.adapters import Adapters
from vnicaudit.remedy.applying.clouds.nodes import Nodes
from vnicaudit.remedy.applying.clouds.nova_manage import Manage
from vnicaudit.remedy.applying.clouds.transaction import CloudTransaction
from vnicaudit.remedy.applying.work import UnitWork
from vnicaudit.remedy.cloud import Cloud


class CloudPlace(NamedTuple):
    """The connection to a cloud, for the work on its units. ``thorough``: nova-manage is asked
    about each server before it is stopped, not only once."""

    cloud: Cloud
    manage: Manage
    nodes: Nodes
    adapters: Adapters
    thorough: bool


CloudWork = UnitWork[CloudPlace, CloudTransaction]
