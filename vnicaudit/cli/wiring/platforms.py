"""All platforms, each assembled here from its readers, resolver, titles and writers. Only this
module knows all of them."""

from __future__ import annotations

import os
from functools import cache, partial
from typing import TYPE_CHECKING

from vnicaudit.audit.reading.targets import Platform, Platforms, TargetKind, target_of
from vnicaudit.base.opening import is_packed, read_regular
from vnicaudit.errors import UsageError
from vnicaudit.model import finding as names
from vnicaudit.model.file_kind import is_domain
from vnicaudit.model.kubevirt import Preference
from vnicaudit.model.nova import NovaConfig
from vnicaudit.platforms import libvirt, openstack, unjudged
from vnicaudit.platforms.domain_xml import DOMAIN_XML, INTERFACES, xpath_of
from vnicaudit.platforms.infra_code import INFRA_CODE
from vnicaudit.platforms.kubevirt import MANIFEST
from vnicaudit.platforms.nova_conf import NOVA_CONF
from vnicaudit.platforms.nova_homes import NOVA_HOMES
from vnicaudit.platforms.qemu import COMMANDS, NOT_PLANNED, QEMU_LOG, proc_of, read_processes
from vnicaudit.text.targets import CLUSTER, cluster_parts, is_place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from vnicaudit.audit.reading.targets import HostItem
    from vnicaudit.model.domain import DomainConfig
    from vnicaudit.model.file_kind import Item
    from vnicaudit.model.finding import Description
    from vnicaudit.model.fleet import LiveOptions
    from vnicaudit.model.host import HostConfig
    from vnicaudit.model.nic import Effective, NicConfig, RunningNic
    from vnicaudit.remedy.applying.driver import Driver, KindTable
    from vnicaudit.remedy.planning.run import NewPlanner, PlanRun, TargetPlanner
    from vnicaudit.remedy.replacing import PlatformWriter


def _no_drivers() -> tuple[type[Driver], ...]:
    return ()


def _no_descriptions() -> tuple[type[Description], ...]:
    return ()


class RegisteredPlatform(Platform, frozen=True):
    """One platform, as it is read and changed. ``planner`` plans changes for its targets,
    ``drivers`` change its units, ``writer`` writes changes into its files; each is loaded on first
    use, and None if the platform has none. ``describes`` returns the records, other than domains,
    that it reads from files and may write."""

    planner: NewPlanner | None = None
    drivers: Callable[[], tuple[type[Driver], ...]] = _no_drivers
    writer: Callable[[], PlatformWriter] | None = None
    describes: Callable[[], tuple[type[Description], ...]] = _no_descriptions


class PlatformRegistry(Platforms):
    """All platforms of vnicaudit."""

    def __init__(self, platforms: Iterable[RegisteredPlatform]) -> None:
        self.registered = tuple(platforms)
        super().__init__(self.registered, unjudged)

    @property
    def planners(self) -> tuple[NewPlanner, ...]:
        """Planners of all platforms, in the order in which their targets are read."""
        return tuple(one.planner for one in self.registered if one.planner is not None)

    def unit_kinds(self) -> KindTable:
        """All kinds of units, each limited to targets of its own platform, so that an edited plan
        cannot send a change elsewhere."""
        from vnicaudit.remedy.applying.driver import KindTable

        at = TargetOwners(self.registered)
        return KindTable(
            (driver, partial(at.is_of, platform=one))
            for one in self.registered
            for driver in one.drivers()
        )

    def writer(self, item: Item) -> PlatformWriter | None:
        """The platform writer for an item's description; None: it is not changed in files (QEMU
        command lines, images, flavors)."""
        for one in self.registered:
            described = isinstance(item, one.describes())
            if described or (is_domain(item) and item.declared.platform == one.name):
                return None if one.writer is None else one.writer()
        return None


class TargetOwners:
    """The platform to which each target belongs, cached."""

    def __init__(self, platforms: tuple[RegisteredPlatform, ...]) -> None:
        self._kinds = tuple(kind for one in platforms for kind in one.targets)
        self._known: dict[str, str] = {}

    def is_of(self, target: str, platform: RegisteredPlatform) -> bool:
        """True if the target is of one of the platform's kinds, or is a path and the platform reads
        files. An invalid target (from an edited plan) matches every platform; it cannot be reached
        anyway."""
        if target not in self._known:
            try:
                self._known[target] = target_of(target, self._kinds).kind
            except UsageError:
                self._known[target] = ""
        kind = self._known[target]
        if not kind:
            return True
        if kind == "path":
            return bool(platform.files)
        return kind in (one.kind for one in platform.targets)


def resolve_definition(
    nic: NicConfig, domain: DomainConfig, host: HostConfig, running: RunningNic | None
) -> Effective:
    """The effective facts of a NIC according to libvirt and QEMU. The resolver is loaded on first
    use."""
    from vnicaudit.audit.effective.resolve import resolve

    return resolve(nic, domain, host, running)


def _manifest(
    nic: NicConfig, domain: DomainConfig, host: HostConfig, running: RunningNic | None
) -> Effective:
    from vnicaudit.audit.effective.resolve import resolve_manifest

    return resolve_manifest(nic, domain, host, running)


def _server(
    nic: NicConfig, domain: DomainConfig, host: HostConfig, running: RunningNic | None
) -> Effective:
    from vnicaudit.audit.effective.resolve import resolve_server

    return resolve_server(nic, domain, host, running)


def _domain_planner(run: PlanRun) -> TargetPlanner:
    from vnicaudit.remedy.planning.domain_targets import DomainTargetPlanner

    return DomainTargetPlanner(run)


def _cloud_planner(run: PlanRun) -> TargetPlanner | None:
    kinds = map(run.request.work.platforms.kind_of, run.targets)
    if not any(kind is not None and kind.cloud is not None for kind in kinds):
        return None
    from vnicaudit.remedy.planning.cloud.run import CloudTargetPlanner

    return CloudTargetPlanner(run)


def _domain_drivers() -> tuple[type[Driver], ...]:
    from vnicaudit.remedy.applying.domains.driver import DomainDriver

    return (DomainDriver,)


def _file_drivers() -> tuple[type[Driver], ...]:
    from vnicaudit.remedy.applying.domains.file import FileDriver

    return (FileDriver,)


def _cloud_drivers() -> tuple[type[Driver], ...]:
    from vnicaudit.remedy.applying.clouds.prepare_server import ServerDriver
    from vnicaudit.remedy.applying.clouds.sources import FlavorDriver, ImageDriver

    return ServerDriver, ImageDriver, FlavorDriver


def _domain_writer() -> PlatformWriter:
    from vnicaudit.platforms.domain_xml import write

    return write


def _manifest_writer() -> PlatformWriter:
    from vnicaudit.platforms.kubevirt import write

    return write


def _nova_conf_writer() -> PlatformWriter:
    from vnicaudit.platforms.nova_conf import write

    return write


def _nova_conf_descriptions() -> tuple[type[Description], ...]:
    return (NovaConfig,)


def _manifest_descriptions() -> tuple[type[Description], ...]:
    return (Preference,)


def _place_of(name: str) -> str | None:
    if not is_place(name):
        return None
    from vnicaudit.platforms.host.visiting.visit import place_of

    return place_of(name)


def _read_place(url: str, options: LiveOptions) -> Iterator[HostItem]:
    from vnicaudit.platforms.host.visiting.visit import read_visit

    return read_visit(url, options)


def _probe_place(url: str, options: LiveOptions) -> str:
    from vnicaudit.platforms.host.visiting.visit import probe

    return probe(url, options)


def cluster_of(name: str) -> str | None:
    """The target, if it is a cluster; None for any other. Raises UsageError for a parameter other
    than ``kubeconfig``."""
    if not name.startswith(CLUSTER):
        return None
    try:
        cluster_parts(name)
    except ValueError as error:
        raise UsageError(f"{name}: {error}; write kube:CONTEXT?kubeconfig=FILE") from None
    return name


def _check_cluster() -> None:
    """Raises MissingExtraError if the client is missing."""
    import vnicaudit.platforms.kubevirt.live.client as binding

    del binding


def _contexts(name: str, live: LiveOptions) -> list[str]:
    from vnicaudit.platforms.kubevirt.live.client import contexts

    return contexts(name, live)


def _read_cluster(target: str, live: LiveOptions) -> Iterator[Item]:
    from vnicaudit.platforms.kubevirt.live.read import read

    return read(target, live)


def _probe_cluster(target: str, live: LiveOptions) -> str:
    from vnicaudit.platforms.kubevirt.live.client import probe

    return probe(target, live)


def _waits_for_cluster(_target: str) -> bool:
    return True


_RECORDED = b'"vnicaudit.host-facts/1"'
"""Among the first bytes of a recording of a host."""


def _beginning(name: str) -> bytes:
    """The first bytes of a file; none of what is no file, or cannot be read (which is told when it
    is to be read)."""
    if not os.path.isfile(name):
        return b""
    try:
        return read_regular(name, 512)
    except OSError:
        return b""


def _report_of(name: str) -> str | None:
    if not is_packed(_beginning(name)) and not os.path.isdir(name):
        return None
    from vnicaudit.platforms.sosreport import report_of

    return report_of(name)


def _reports_of(name: str, live: LiveOptions) -> list[str]:
    from vnicaudit.platforms.sosreport import reports_of

    return reports_of(name, live)


def _read_report(name: str, options: LiveOptions) -> Iterator[HostItem]:
    from vnicaudit.platforms.sosreport import read_report

    return read_report(name, options)


def _recording_of(name: str) -> str | None:
    return name if _RECORDED in _beginning(name) else None


def _read_recording(path: str, options: LiveOptions) -> Iterator[HostItem]:
    from vnicaudit.platforms.host.visiting.visit import read_recorded

    return read_recorded(path, options)


_COPY_NOT_PLANNED = (
    "a copy of a host's files cannot be changed to any effect; name the host's libvirt URI, for "
    "example qemu+ssh://root@HOST/system"
)


def _host_planner(run: PlanRun) -> TargetPlanner | None:
    if not any(target.kind == names.HOST for target in run.targets):
        return None
    from vnicaudit.remedy.planning.host_settings import HostTargetPlanner

    return HostTargetPlanner(run)


def _cluster_planner(run: PlanRun) -> TargetPlanner | None:
    if not any(target.kind == "kube" for target in run.targets):
        return None
    from vnicaudit.remedy.planning.clusters import ClusterTargetPlanner

    return ClusterTargetPlanner(run)


def _setting_drivers() -> tuple[type[Driver], ...]:
    from vnicaudit.remedy.applying.hosts import SettingDriver

    return (SettingDriver,)


def _cluster_drivers() -> tuple[type[Driver], ...]:
    from vnicaudit.remedy.applying.clusters import DRIVERS

    return DRIVERS


PLATFORMS = (
    RegisteredPlatform(
        names.DOMAIN_XML,
        (DOMAIN_XML,),
        resolve_definition,
        {
            "raw": "Definition (as written)",
            "dump": "Persistent definition",
            "live": "Live definition",
        },
        place_of=xpath_of,
        planner=_domain_planner,  # for live hosts too: both read definitions
        drivers=_file_drivers,
        writer=_domain_writer,
    ),
    RegisteredPlatform(
        names.NOVA_CONF,
        (NOVA_CONF, NOVA_HOMES),
        writer=_nova_conf_writer,
        describes=_nova_conf_descriptions,
    ),
    RegisteredPlatform(
        names.QEMU,
        (QEMU_LOG, COMMANDS),
        resolve_definition,
        {"qemu": "QEMU's arguments, as a definition"},
        (TargetKind("proc", proc_of, read=read_processes, not_planned=NOT_PLANNED),),
    ),
    RegisteredPlatform(
        names.KUBEVIRT,
        (MANIFEST,),
        _manifest,
        {"manifest": "Manifest"},
        (
            TargetKind(
                "kube",
                cluster_of,
                _check_cluster,
                _read_cluster,
                _waits_for_cluster,
                probe=_probe_cluster,
                expanded=_contexts,
            ),
        ),
        planner=_cluster_planner,
        drivers=_cluster_drivers,
        writer=_manifest_writer,
        describes=_manifest_descriptions,
    ),
    RegisteredPlatform(
        names.INFRA_CODE, (INFRA_CODE,), resolve_definition, {"terraform": "Terraform resource"}
    ),
    RegisteredPlatform(
        names.OPENSTACK,
        resolve=_server,
        targets=(
            TargetKind(
                "openstack",
                openstack.cloud_of,
                openstack.check,
                cloud=openstack.read_cloud,
                expanded=openstack.regions,
                compute_nodes=openstack.cloud_nodes,
            ),
        ),
        planner=_cloud_planner,
        drivers=_cloud_drivers,
    ),
    RegisteredPlatform(
        names.HOST,
        targets=(
            TargetKind(
                "host",
                _place_of,
                read=_read_place,
                waits=is_place,
                probe=_probe_place,
            ),
            TargetKind(
                "recording",
                _recording_of,
                read=_read_recording,
                not_planned=_COPY_NOT_PLANNED,
                is_copy=True,
            ),
            TargetKind(
                "sosreport",
                _report_of,
                read=_read_report,
                not_planned=_COPY_NOT_PLANNED,
                is_copy=True,
                expanded=_reports_of,
            ),
        ),
        planner=_host_planner,
        drivers=_setting_drivers,
    ),
    RegisteredPlatform(
        names.LIBVIRT,
        (INTERFACES,),  # last: what the others read is more than its NICs
        targets=(
            TargetKind(
                "libvirt",
                libvirt.uri_of,
                libvirt.check,
                libvirt.read_host,
                libvirt.waits,
                libvirt.read_definitions,
                probe=libvirt.probe_host,
            ),
        ),
        drivers=_domain_drivers,
    ),
)
"""In the order in which files are tried and targets are planned. Planning the servers of a cloud
uses the definitions read before them."""


@cache
def every_platform() -> PlatformRegistry:
    """All platforms of vnicaudit."""
    return PlatformRegistry(PLATFORMS)
