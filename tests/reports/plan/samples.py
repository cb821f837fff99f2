"""A plan worth reviewing: two hypervisors, a file, guests of libvirt and of Nova."""

from vnicaudit.model.finding import Change, Ref
from vnicaudit.model.plan import (
    Blocked,
    DomainUnit,
    FileUnit,
    GuestView,
    Loss,
    ModeOption,
    Naming,
    NotPlanned,
    Plan,
    Snippet,
    Step,
)

MAIL_UUID = "6f4d3c1e-0e5a-4c52-8f6c-0d2f8f4f3a11"
DIGEST = f"sha256:{'5f' * 32}"
ALL_MODES = (
    ModeOption("next-boot", possible=True),
    ModeOption("restart", possible=True),
    ModeOption("hotswap", possible=False, reason="no guest agent answers"),
)
LINK = Snippet(
    "systemd-link",
    "/etc/systemd/network/10-ens3.link",
    "[Match]\nMACAddress=52:54:00:12:34:56\n\n[Link]\nName=ens3\n",
)
DIFF = """\
--- mail-01
+++ mail-01
@@ -13,5 +13,5 @@
     <interface type='bridge'>
       <source bridge='br0'/>
-      <model type='rtl8139'/>
+      <model type='virtio'/>
     </interface>
"""
MAIL = Step(
    id="s1",
    target="qemu:///system",
    about=Ref("nic", "mail-01", MAIL_UUID, "52:54:00:12:34:56", 0, "vnet3"),
    owner="libvirt",
    to="virtio",
    rules=("VNIC001", "VNIC040"),
    changes=(
        Change("model", "rtl8139", "virtio", safe=True, reason="the guest supports virtio"),
        Change("queues", None, "4", safe=False, reason="measure before and after"),
    ),
    readiness="ready",
    safe=True,
    reason="the guest has a virtio disk and runs Debian 12",
    running=True,
    modes=ALL_MODES,
    digest=DIGEST,
    diff=DIFF,
    guest=GuestView(
        "10ec:8139",
        "1af4:1000",
        "0000:00:03.0",
        "0000:00:03.0",
        Naming("ens3", "eth0", "net.ifnames is 0"),
        ("virtio_net",),
        ("the link is down while the guest restarts",),
        (LINK,),
    ),
    notes=("the host was not asked for its vhost-net",),
    unit=DomainUnit(),
)
MAIL_1 = Step(
    id="s2",
    target="qemu:///system",
    about=Ref("nic", "mail-01", MAIL_UUID, "52:54:00:12:34:57", 1, None),
    owner="libvirt",
    to="vhostuser",
    rules=("VNIC001",),
    changes=(Change("filterref", "clean-traffic", None, safe=False, reason="vhost-user has none"),),
    readiness="ready",
    safe=False,
    reason="a function is lost",
    running=True,
    modes=(ModeOption("next-boot", possible=True),),
    digest=DIGEST,
    diff="",
    guest=GuestView("8086:100e", None, "0000:00:04.0", "0.0.0001", Naming("ens4", "ens4")),
    losses=(
        Loss("filterref", "nothing keeps the guest from using other addresses"),
        Loss("bandwidth", "", accepted=True),
    ),
    blocked=(Blocked("managed-save", "a managed save would bring the old NIC back"),),
    unit=DomainUnit(),
)
FILE = Step(
    id="s3",
    target="definitions",
    about=Ref("nic", "web-01", None, "52:54:00:00:00:01", 0, None),
    owner="libvirt",
    to="virtio",
    rules=("VNIC001",),
    changes=(Change("model", "e1000", "virtio", safe=True),),
    readiness="likely-ready",
    safe=False,
    reason="nothing tells that the guest is not Windows",
    running=False,
    modes=(ModeOption("next-boot", possible=True),),
    digest=DIGEST,
    diff="",
    guest=GuestView(name=Naming(reason="no operating system is known")),
    unit=FileUnit("definitions/web-01.xml", "/domain/devices/interface[1]"),
)
NOVA = Step(
    id="s4",
    target="qemu+ssh://kvm2/system",
    about=Ref("nic", "instance-0000002a", None, None, 0, "tap1f2e3d4c-5b"),
    owner="nova",
    to="virtio",
    rules=("VNIC001",),
    changes=(Change("model", "e1000", "virtio", safe=True),),
    readiness="ready",
    safe=True,
    reason="the guest runs Ubuntu 24.04",
    running=True,
    modes=(),
    digest=DIGEST,
    diff="",
    procedure=(
        "openstack server stop 1d0c7a52-4a0e-4bb4-9f0e-7c1f2a3b4c5d",
        "nova-manage image_property set 1d0c7a52-4a0e-4bb4-9f0e-7c1f2a3b4c5d "
        "--property hw_vif_model=virtio",
        "openstack server start 1d0c7a52-4a0e-4bb4-9f0e-7c1f2a3b4c5d",
    ),
    unit=DomainUnit(),
)
UNKNOWN = "it is not known whether the guest supports virtio"
NOT_PLANNED = (
    NotPlanned(Ref("nic", "win-02", None, "52:54:00:00:00:09", 0), "qemu:///system", ("VNIC001",),
         "Windows without NetKVM"),
    NotPlanned(Ref("nic", "db-01", None, "52:54:00:00:00:07", 0), "qemu:///system", ("VNIC001",),
         UNKNOWN),
    NotPlanned(Ref("nic", "db-02", None, "52:54:00:00:00:08", 0), "definitions",
         ("VNIC001", "VNIC003"), UNKNOWN),
)  # fmt: skip
PLAN = Plan(
    tool="vnicaudit",
    version="0.4.0",
    created="2026-11-21T10:15:00Z",
    to="virtio",
    targets=("qemu:///system", "definitions", "qemu+ssh://kvm2/system", "qemu+ssh://kvm9/system"),
    # those of one domain need not stand together
    steps=(MAIL, FILE, MAIL_1, NOVA),
    not_planned=NOT_PLANNED,
    errors=("qemu+ssh://kvm9/system: cannot connect",),
)
EMPTY = Plan(
    tool="vnicaudit",
    version="0.4.0",
    created="2026-11-21T10:15:00Z",
    to="virtio",
    targets=("definitions",),
    steps=(),
)
