"""All platforms, each assembled here from its readers, resolver and titles, and what changes what
they read. Only this module knows all of them."""

from __future__ import annotations

import os
from functools import cache, partial
from typing import TYPE_CHECKING

from vnicaudit.audit.effective.resolve import resolve, resolve_manifest, resolve_server
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
    from collections.abc import Iterable, Iterator

    from vnicaudit.audit.reading.targets import HostItem
    from vnicaudit.model.file_kind import Item
    from vnicaudit.model.fleet import LiveOptions
    from vnicaudit.remedy.applying.driver import KindTable
    from vnicaudit.remedy.planning.run import PlanRun, TargetPlanner
    from vnicaudit.remedy.replacing import PlatformWriter


class PlatformRegistry(Platforms):
    """All platforms of vnicaudit, and what changes what they read. Each is imported when needed."""

    def __init__(self, platforms: Iterable[Platform]) -> None:
        super().__init__(platforms, unjudged)

    def planners(self, run: PlanRun) -> tuple[TargetPlanner, ...]:
        """The planners for the targets of a run, in the order in which these are read. Planning the
        servers of a cloud uses the definitions read before them."""
        from vnicaudit.remedy.planning.domain_targets import DomainTargetPlanner

        found: list[TargetPlanner] = [DomainTargetPlanner(run)]
        kinds = {target.kind for target in run.targets}
        if "kube" in kinds:
            from vnicaudit.remedy.planning.clusters import ClusterTargetPlanner

            found.append(ClusterTargetPlanner(run))
        if names.OPENSTACK in kinds:
            from vnicaudit.remedy.planning.cloud.run import CloudTargetPlanner

            found.append(CloudTargetPlanner(run))
        if names.HOST in kinds:
            from vnicaudit.remedy.planning.host_settings import HostTargetPlanner

            found.append(HostTargetPlanner(run))
        return tuple(found)

    def unit_kinds(self) -> KindTable:
        """All kinds of units, each limited to targets of its own platform, so that an edited plan
        cannot send a change elsewhere."""
        from vnicaudit.cli.wiring.drivers import DRIVERS
        from vnicaudit.remedy.applying.driver import KindTable

        of_target = cache(self._platforms_of)

        def is_read(platform: str, target: str) -> bool:
            return platform in of_target(target)

        return KindTable(
            (driver, partial(is_read, name))
            for name, drivers in DRIVERS.items()
            for driver in drivers
        )

    def _platforms_of(self, target: str) -> frozenset[str]:
        """The platforms that read a target. An invalid one (from an edited plan) matches each; it
        cannot be reached anyway."""
        try:
            kind = target_of(target, self.targets).kind
        except UsageError:
            return frozenset(one.name for one in self.all)
        return frozenset(
            one.name
            for one in self.all
            if (one.files if kind == "path" else kind in (each.kind for each in one.targets))
        )

    def writer(self, item: Item) -> PlatformWriter | None:
        """The platform writer for an item's description; None: it is not changed in files (QEMU
        command lines, images, flavors)."""
        platform = item.declared.platform if is_domain(item) else None
        if platform == names.DOMAIN_XML:
            from vnicaudit.platforms.domain_xml import write as domain_writer

            return domain_writer
        if platform == names.KUBEVIRT or isinstance(item, Preference):
            from vnicaudit.platforms.kubevirt import write as manifest_writer

            return manifest_writer
        if isinstance(item, NovaConfig):
            from vnicaudit.platforms.nova_conf import write

            return write
        return None


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


def named_cluster(target: str) -> str:
    """The target of a command for clusters only. Raises UsageError for any other."""
    if cluster_of(target) is None:
        raise UsageError(f"{target}: not a cluster; write kube:CONTEXT")
    return target


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


PLATFORMS = (
    Platform(
        names.DOMAIN_XML,
        (DOMAIN_XML,),
        resolve,
        {
            "raw": "Definition (as written)",
            "dump": "Persistent definition",
            "live": "Live definition",
        },
        place_of=xpath_of,
    ),
    Platform(
        names.NOVA_CONF,
        (NOVA_CONF, NOVA_HOMES),
    ),
    Platform(
        names.QEMU,
        (QEMU_LOG, COMMANDS),
        resolve,
        {"qemu": "QEMU's arguments, as a definition"},
        (TargetKind("proc", proc_of, read=read_processes, not_planned=NOT_PLANNED),),
    ),
    Platform(
        names.KUBEVIRT,
        (MANIFEST,),
        resolve_manifest,
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
    ),
    Platform(names.INFRA_CODE, (INFRA_CODE,), resolve, {"terraform": "Terraform resource"}),
    Platform(
        names.OPENSTACK,
        resolve=resolve_server,
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
    ),
    Platform(
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
    ),
    Platform(
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
    ),
)
"""In the order in which files are tried."""


@cache
def every_platform() -> PlatformRegistry:
    """All platforms of vnicaudit."""
    return PlatformRegistry(PLATFORMS)
