"""The names of platforms, as a separate type: plug-ins add platforms."""

from __future__ import annotations

from typing import NewType

PlatformName = NewType("PlatformName", str)
"""Name of a platform, as registered, and as used by a domain or a unit of a plan."""

DOMAIN_XML = PlatformName("domain_xml")
INFRA_CODE = PlatformName("infra_code")
KUBEVIRT = PlatformName("kubevirt")
LIBVIRT = PlatformName("libvirt")
NOVA_CONF = PlatformName("nova_conf")
OPENSTACK = PlatformName("openstack")
QEMU = PlatformName("qemu")

DOMAIN_FILE = PlatformName("file")
"""Name shown in a plan for steps on definitions in files."""
