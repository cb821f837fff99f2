"""Descriptions that are judged beside domains and hosts: objects that decide which NICs a guest
will get."""

from __future__ import annotations

from vnicaudit.model.kubevirt import Preference
from vnicaudit.model.nova import NovaConfig
from vnicaudit.model.openstack import Flavor, Image

Description = NovaConfig | Image | Flavor | Preference
"""The records; :mod:`vnicaudit.audit.judging.descriptions` defines how each is judged."""
