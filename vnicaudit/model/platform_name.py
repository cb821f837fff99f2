"""The names of platforms, a type of their own: plug-ins bring more than are known here."""

from __future__ import annotations

from typing import NewType

PlatformName = NewType("PlatformName", str)
"""What a platform is registered under, and a domain or a unit of a plan calls it."""

DOMAIN_XML = PlatformName("domain_xml")
INFRA_CODE = PlatformName("infra_code")
KUBEVIRT = PlatformName("kubevirt")
LIBVIRT = PlatformName("libvirt")
NOVA_CONF = PlatformName("nova_conf")
OPENSTACK = PlatformName("openstack")
QEMU = PlatformName("qemu")

DOMAIN_FILE = PlatformName("file")
"""What steps of a plan on definitions in files are shown under."""
