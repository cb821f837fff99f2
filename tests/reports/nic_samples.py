"""Three NICs worth looking at."""

from vnicaudit.model.domain import Domain, DomainConfig, DomainState, LiveFacts
from vnicaudit.model.finding import Location
from vnicaudit.model.nic import NONE, UNKNOWN, Effective, Nic, NicConfig, Resolved

PLACE = Location("d", "d/web.xml", 18)
NO_RING = "rtl8139 has no virtio ring"
LEGACY = Nic(
    0,
    NicConfig("network", rx_queue_size=1024),
    PLACE,
    "52:54:00:6b:3c:58",
    effective=Effective(
        Resolved(None, "rtl8139", "no model declared: libvirt's default on x86_64 q35"),
        Resolved(None, False, "rtl8139 is emulated by QEMU; only virtio has vhost"),
        Resolved(None, 1, "rtl8139 has one queue"),
        Resolved(1024, None, f"{NO_RING}; libvirt drops rx_queue_size= on it", NONE),
        Resolved(None, None, NO_RING, NONE),
    ),
)
TUNED = Nic(
    1,
    NicConfig("bridge", actual_type="bridge", model="virtio"),
    PLACE,
    target_dev="vnet7",
    effective=Effective(
        Resolved("virtio", "virtio", "as declared"),
        Resolved(True, None, "the definition never proves it", UNKNOWN),
        Resolved(4, 4, "as declared"),
        Resolved(None, 256, "none declared: QEMU's default"),
        Resolved(1024, 256, "QEMU 7.2.22 silently reduces it"),
    ),
)
REFUSED = Nic(
    0,
    NicConfig("direct", actual_type="direct", model="notanic"),
    PLACE,
    "52:54:00:00:00:02",
    effective=Effective(
        Resolved("notanic", "notanic", "as declared"),
        Resolved(None, False, "notanic is emulated by QEMU; only virtio has vhost"),
        Resolved(None, 1, "notanic has one queue"),
        Resolved(None, None, "notanic has no virtio ring", NONE),
        Resolved(None, None, "notanic has no virtio ring", NONE),
        starts=False,
    ),
)
WEB = Domain(
    "web-01",
    DomainConfig("kvm", "x86_64", "pc-q35-9.2", 4, 4, nics=2),
    PLACE,
    (LEGACY, TUNED),
    uuid="3b2bb8cc-9a31-4a4b-a26c-1a7d0a5c8e01",
    live=LiveFacts(DomainState(active=True)),
)
ODD = Domain("odd\x1b[2J", DomainConfig("kvm", owner="nova"), PLACE, (REFUSED,))
EMPTY = Domain("router", DomainConfig("kvm"), PLACE)
