"""The one place that imports openstacksdk, keystoneauth and requests, and says what to install if
they are missing."""

from __future__ import annotations

import logging

from vnicaudit.errors import MissingExtraError

try:
    import keystoneauth1.exceptions as keystone_errors
    import requests
    import urllib3.exceptions as transport_errors
    import yaml
    from keystoneauth1.access.access import AccessInfo
    from keystoneauth1.identity.base import BaseIdentityPlugin
    from keystoneauth1.plugin import AUTH_INTERFACE
    from keystoneauth1.session import Session
    from openstack.config import OpenStackConfig, loader
    from openstack.config.cloud_region import CloudRegion
    from openstack.exceptions import SDKException
except ImportError as error:
    raise MissingExtraError("reading an OpenStack cloud", "openstack") from error

for _name in ("keystoneauth", "keystoneauth1", "openstack"):
    # everything they log is raised as well; without a handler Python prints warnings
    logging.getLogger(_name).addHandler(logging.NullHandler())

__all__ = [
    "AUTH_INTERFACE",
    "AccessInfo",
    "BaseIdentityPlugin",
    "CloudRegion",
    "OpenStackConfig",
    "SDKException",
    "Session",
    "keystone_errors",
    "loader",
    "requests",
    "transport_errors",
    "yaml",
]
