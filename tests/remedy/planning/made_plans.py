"""Plans of every kind of unit, made without a libvirt or a cloud."""

from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from tests.remedy.planning.cloud import clouds
from tests.remedy.planning.planned import (
    KUBEVIRT,
    MAC,
    NOVA,
    OVIRT,
    RUNNING,
    SECOND,
    SHARED,
    WINDOWS,
    definition,
    in_file,
    interface,
    live,
    plan,
)
from vnicaudit.audit.settings.keys import PolicyTable
from vnicaudit.model.fleet import CloudRecord
from vnicaudit.model.host import VdpaDevice
from vnicaudit.model.plan import Goal, NotPlanned, Plan, Planned, UnitStep
from vnicaudit.remedy.planning.run import PlanOptions
from vnicaudit.remedy.planning.source import Source

_POLICY = PolicyTable(queues="auto", rx_queue_size=1024, tx_queue_size=1024)
_DEVICE, _SOCKET = "/dev/vhost-vdpa-0", "/run/vhu-1"
_VDUSE = VdpaDevice("rig", _DEVICE, "vhost_vdpa", vduse=True, shared_memory=True)
_FILTER = "<filterref filter='clean-traffic'/><bandwidth><inbound average='1'/></bandwidth>"


def domains() -> Plan:
    """Live domains: plain, tuned, blocked by their state or owner, and not planned."""
    saved = replace(RUNNING, managed_save=True, memory_snapshots=2, snapshots=3)
    several = definition(interface("rtl8139"), interface("virtio", 2), interface(None, 3))
    sources = [
        live(several, RUNNING),
        live(definition(interface("e1000"), name="b", uuid=_uuid(2)), saved),
        live(definition(interface("e1000", mac=None), name="c", uuid=_uuid(3))),
        live(definition(interface("e1000"), name="d", uuid=_uuid(4), os=WINDOWS)),
        live(definition(interface("e1000"), name="e", uuid=_uuid(5), os=None)),
        live(definition(interface("rtl8139"), name="f", uuid=_uuid(6), metadata=NOVA)),
        live(definition(interface("rtl8139"), name="ns_g", uuid=_uuid(7), metadata=KUBEVIRT)),
        live(definition(interface("rtl8139"), name="h", uuid=_uuid(8), metadata=OVIRT)),
        live(
            definition(interface("e1000"), name="i", uuid=_uuid(9)),
            replace(RUNNING, persistent=False),
        ),
    ]
    return _of_sources(sources, PlanOptions(policy=_POLICY))


def files(folder: Path) -> Plan:
    """Definitions in files: one that is safe, one that is not; a template."""
    safe = in_file(folder / "a.xml", definition(interface("e1000"), interface("rtl8139", 2)))
    unsafe = in_file(folder / "b.xml", definition(interface("e1000"), name="b", os=None))
    template = in_file(folder / "t.xml", definition(interface("e1000"), name="{{ name }}"))
    sources = [
        one._replace(target="vms", file=f"/srv/vms/{Path(one.file or '').name}")
        for one in (*safe, *unsafe, *template)
    ]
    return _of_sources(sources, PlanOptions(unsafe=True))


def backends(to: Goal) -> Plan:
    """A NIC of a live host that is to be on vDPA or vhost-user; and one of an owner's guest."""
    guest = definition(interface("virtio", children=_FILTER), interface("virtio", 2), before=SHARED)
    owned = definition(interface("virtio", 2), name="web", uuid=_uuid(2), metadata=NOVA)
    options = PlanOptions(
        to=to,
        macs=(MAC, SECOND),
        devices=(_DEVICE if to == "vdpa" else _SOCKET, "/dev/vhost-vdpa-7"),
        accepted=frozenset({"bandwidth"}),
    )
    return _of_sources([live(guest, RUNNING), live(owned, RUNNING)], options)


def cloud() -> Plan:
    """Servers in several states, images and flavors, as an operator sees them."""
    asks = clouds.image({"hw_vif_multiqueue_enabled": "true"}, id=_id(5), name="asks")
    items: list[CloudRecord] = [
        clouds.server(),
        clouds.server(clouds.port("e1000"), clouds.port("e1000", clouds.SECOND, 1), name="two",
                      id=_id(1), status="SHUTOFF"),
        clouds.server(name="paused", id=_id(2), status="PAUSED", ref={"locked": True}),
        clouds.server(name="shelved", id=_id(3), status="SHELVED_OFFLOADED"),
        clouds.server(name="old", id=_id(4), config={"nova": clouds.NOVA_24}),
        clouds.server(name="windows", id=_id(6), os_id=clouds.WINDOWS, readiness="needs-driver"),
        clouds.server(clouds.port(None), name="unseen", id=_id(7), kept={},
                      config={"properties_source": "unseen", "image_state": "volume",
                              "image": None}),
        clouds.server(name="grouped", id=_id(8), ref={"groups": ("g1",), "volumes": 2,
                      "project_name": "web team"}),
        clouds.image(),
        clouds.image({"hw_vif_model": "rtl8139", "os_type": "windows"}, id=_id(9), name="windows"),
        clouds.image({"hw_vif_model": "rtl8139"}, id="6" + clouds.IMAGE[1:], name="nothing said"),
        clouds.flavor({"hw:vif_multiqueue_enabled": "false"}, images=(asks,)),
    ]  # fmt: skip
    return _plan(clouds.plan(*items, options=PlanOptions(policy=_POLICY)), (clouds.CLOUD,))


def tenant() -> Plan:
    """What who uses a cloud is told."""
    volume = clouds.server(name="v", id=_id(1), config={"image_state": "volume", "image": None})
    others = clouds.image(owner="another")
    items = (clouds.tenants(clouds.server()), clouds.tenants(volume), others)
    return _plan(clouds.plan(*items), (clouds.CLOUD,))


def cloud_backend(to: Goal) -> Plan:
    """A port of a server that is to be on another backend."""
    first = clouds.server(clouds.port("virtio"))
    second = clouds.server(clouds.port("virtio"), name="off", id=_id(1), status="SHUTOFF",
                           config={"nova": clouds.NOVA_24})  # fmt: skip
    options = PlanOptions(to=to, macs=(clouds.MAC,))
    return _plan(clouds.plan(first, second, options=options), (clouds.CLOUD,), to)


def made_plans(folder: Path) -> dict[str, Plan]:
    """The plans by name; ``folder``: for definitions."""
    return {
        "domains": domains(),
        "files": files(folder),
        "vdpa": backends("vdpa"),
        "vhostuser": backends("vhostuser"),
        "cloud": cloud(),
        "tenant": tenant(),
        "cloud-vdpa": cloud_backend("vdpa"),
        "cloud-vhostuser": cloud_backend("vhostuser"),
    }


def _of_sources(sources: Iterable[Source], options: PlanOptions) -> Plan:
    sources = tuple(sources)
    found = [
        each for source in sources
        for each in plan(source, options, devices=(_VDUSE,), users={})
    ]  # fmt: skip
    return _plan(found, tuple(dict.fromkeys(source.target for source in sources)), options.to)


def _plan(found: Iterable[Planned], targets: tuple[str, ...], to: Goal = "virtio") -> Plan:
    found = tuple(found)
    steps = [each for each in found if isinstance(each, UnitStep)]
    return Plan(
        tool="vnicaudit",
        version="0.5.0",
        created="2026-11-23T03:30:00Z",
        to=to,
        targets=targets,
        steps=tuple(replace(step, id=str(number)) for number, step in enumerate(steps, 1)),
        not_planned=tuple(each for each in found if isinstance(each, NotPlanned)),
    )


def _uuid(number: int) -> str:
    return f"6f4d3c1e-0e5a-4c52-8f6c-0d2f8f4f3a{number:02x}"


def _id(number: int) -> str:
    return f"{number:x}{clouds.ID[1:]}"
