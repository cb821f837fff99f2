"""The drivers that change the units of each platform."""

from __future__ import annotations

from vnicaudit.model import finding as names
from vnicaudit.remedy.applying.clouds.prepare_server import ServerDriver
from vnicaudit.remedy.applying.clouds.sources import FlavorDriver, ImageDriver
from vnicaudit.remedy.applying.clusters import DRIVERS as CLUSTER_DRIVERS
from vnicaudit.remedy.applying.domains.driver import DomainDriver
from vnicaudit.remedy.applying.domains.file import FileDriver
from vnicaudit.remedy.applying.driver import Driver
from vnicaudit.remedy.applying.hosts import SettingDriver

DRIVERS: dict[str, tuple[type[Driver], ...]] = {
    names.DOMAIN_XML: (FileDriver,),
    names.KUBEVIRT: CLUSTER_DRIVERS,
    names.OPENSTACK: (ServerDriver, ImageDriver, FlavorDriver),
    names.HOST: (SettingDriver,),
    names.LIBVIRT: (DomainDriver,),
}
"""By platform."""
