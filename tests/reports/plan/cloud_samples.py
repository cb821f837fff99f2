"""A plan of a cloud: an image, a flavor, and servers of two projects."""

from msgspec.structs import replace

from vnicaudit.model.finding import Change, Ref
from vnicaudit.model.plan import (
    Blocked,
    FlavorUnit,
    GuestView,
    ImageUnit,
    ModeOption,
    Naming,
    NotPlanned,
    Plan,
    ServerUnit,
    Step,
)

CLOUD = "openstack:prod"
ALPHA, BETA = "1f" * 16, "2e" * 16
DIGEST = f"sha256:{'5f' * 32}"
WEB_ID = "0c2f6d2e-7a1c-4f0e-9d56-1f9a6c3b5e77"
DIFF = "--- {}\n+++ {}\n@@ properties @@\n-hw_vif_model=rtl8139\n+hw_vif_model=virtio\n"
MODEL = Change("model", "rtl8139", "virtio", safe=True, reason="the guest supports virtio")
BY_RESTART = (
    ModeOption("next-boot", possible=False, reason="this one runs"),
    ModeOption("restart", possible=True),
    ModeOption("hotswap", possible=False, reason="never"),
)

WEB = Step(
    id="3",
    target=CLOUD,
    about=Ref("server", "web-01", WEB_ID),
    owner="nova",
    to="virtio",
    rules=("VNIC001",),
    changes=(MODEL,),
    readiness="ready",
    safe=True,
    reason="the guest supports virtio",
    running=True,
    modes=BY_RESTART,
    digest=DIGEST,
    diff=DIFF.format("web-01", "web-01"),
    guest=GuestView(name=Naming(reason="Nova keeps no address"), drivers=("virtio_net",)),
    unit=ServerUnit(
        {"hw_vif_model": "virtio"}, {"hw_vif_model": "rtl8139"}, ALPHA, host="cmp1", zone="nova",
        macs=("fa:16:3e:00:00:01", "fa:16:3e:00:00:02"),
    ),
)  # fmt: skip
OFF = replace(
    WEB,
    id="4",
    about=Ref("server", "db-01", "1c2f6d2e-7a1c-4f0e-9d56-1f9a6c3b5e77"),
    running=False,
    safe=False,
    reason="it may not start",
    unit=ServerUnit(
        {"hw_vif_model": "virtio"}, {"hw_vif_model": None}, BETA,
        macs=("fa:16:3e:00:00:03",),
    ),
)  # fmt: skip
ASKED = replace(
    OFF,
    id="5",
    about=Ref("server", "db-02", "2c2f6d2e-7a1c-4f0e-9d56-1f9a6c3b5e77"),
    safe=True,
    blocked=(Blocked("server-state", "it is paused"),),
    procedure=("openstack server unpause db-02", "ask the operator"),
)
IMAGE = Step(
    id="1",
    target=CLOUD,
    about=Ref("image", "legacy", "5b1f3a0c-2f4d-4b6a-8d0e-3c9e7f1a2b44"),
    owner="nova",
    to="virtio",
    rules=("VNIC062",),
    changes=(replace(MODEL, field="hw_vif_model"),),
    readiness="ready",
    safe=True,
    reason="libosinfo lists virtio",
    running=False,
    modes=(ModeOption("next-boot", possible=True),),
    digest=DIGEST,
    diff=DIFF.format("legacy", "legacy"),
    unit=ImageUnit({"hw_vif_model": "virtio"}, {"hw_vif_model": "rtl8139"}, ALPHA),
)
FLAVOR = replace(
    IMAGE,
    id="2",
    about=Ref("flavor", "m1.small", "2"),
    diff="",
    unit=FlavorUnit({"hw:x": None}, {"hw:x": "true"}, new_name="m1.small-vnic"),
)
NOT_PLANNED = (
    NotPlanned(Ref("server", "win-01", "3c"), CLOUD, ("VNIC001",), "no driver", ALPHA),
    NotPlanned(
        Ref("server", "win-02", "4c"),
        CLOUD,
        ("VNIC001",),
        "no driver",
        BETA,
        code="unsafe",
    ),
    NotPlanned(Ref("image", "win", "5c"), CLOUD, ("VNIC062",), "no driver", ALPHA),
)
PLAN = Plan(
    tool="vnicaudit",
    version="0.5.0",
    created="2026-11-22T10:15:00Z",
    to="virtio",
    targets=(CLOUD,),
    steps=(IMAGE, FLAVOR, WEB, OFF, ASKED),
    not_planned=NOT_PLANNED,
    notes=("openstack:prod: this user sees the servers of all projects",),
)
