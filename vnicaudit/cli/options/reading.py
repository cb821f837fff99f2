"""How targets are read: the options, merged with the settings. In one module, so that audit, nics,
explain and plan cannot interpret the same input differently.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import click
import msgspec

from vnicaudit.audit.judging.catalogue import Catalogue, catalogue_with
from vnicaudit.audit.judging.rule_files import refuse_audited
from vnicaudit.audit.reading.selection import (
    Changed,
    Exclusion,
    RunOptions,
    Selection,
    ServerFilter,
)
from vnicaudit.audit.settings.settings import LoadedSettings, load_settings
from vnicaudit.audit.work import Assumptions
from vnicaudit.cli.options.candidates import nova_releases
from vnicaudit.cli.options.environment import Environment, environment
from vnicaudit.cli.options.records import Number, is_on_command_line, option
from vnicaudit.cli.output.progress import tell
from vnicaudit.errors import UsageError
from vnicaudit.model.fleet import DEFAULT_URI, LiveOptions
from vnicaudit.model.host import Version, Workload
from vnicaudit.model.nova import Release
from vnicaudit.reports.safe import safe


def _to_version(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> Version | None:
    """Parse a version: ``10.0`` or ``10.0.13``."""
    if value is None:
        return None
    try:
        return Version.parse(value)
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from None


def _to_release(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> Release | None:
    """Parse a Nova release: ``caracal``, ``29``, ``29.2.0`` or ``2024.1``."""
    if value is None:
        return None

    from vnicaudit.knowledge.nova_conf.options import release_of, releases

    release = release_of(value)
    if release is None:
        known = f"{releases()[0]} to {releases()[-1]}"
        raise click.BadParameter(
            f"unknown Nova release {value!r} (known: {known}); write it as Caracal, 29.0 or 2024.1",
            context,
            parameter,
        )
    return release


class ReadingOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Settings, files, versions to assume, and limits for live hosts and clouds, in seconds."""

    config: str | None
    excluded: Annotated[
        tuple[str, ...],
        option(
            "Skip matching files and folders inside folders, in addition to those in the "
            "settings. Repeatable.",
            "--exclude",
            env=True,
            metavar="PATTERN",
        ),
    ] = ()
    assume_qemu: Annotated[
        Version | None,
        option(
            "Judge as if the hosts ran this QEMU version, to see whether the domains would still "
            "start.",
            env=True,
            callback=_to_version,
            metavar="VERSION",
        ),
    ] = None
    assume_libvirt: Annotated[
        Version | None,
        option(
            "Judge as if the hosts ran this libvirt version.",
            env=True,
            callback=_to_version,
            metavar="VERSION",
        ),
    ] = None
    agent: Annotated[
        bool, option("Also query the guest agents of live domains (slower).", env=True)
    ] = False


class NovaOptions(msgspec.Struct, frozen=True):
    """Where nova.conf is, and the Nova release it is judged for."""

    nova_config: Annotated[
        tuple[str, ...],
        option(
            "File or folder passed to nova-compute as --config-file or --config-dir. Repeatable; "
            "all are read as one configuration, in this order.",
            env=True,
            metavar="PATH",
            type=click.Path(),
        ),
    ] = ()
    nova_release: Annotated[
        Release | None,
        option(
            "Judge nova.conf for this release: Caracal, 29.0 or 2024.1.  [default: the newest "
            "known]",
            env=True,
            shell_complete=nova_releases,
            callback=_to_release,
            metavar="NAME",
        ),
    ] = None


class FileOptions(msgspec.Struct, frozen=True):
    """Which of the files named by the targets are read."""

    changed_since: Annotated[
        str | None,
        option(
            "Read only files changed since this Git revision (its merge base with HEAD), "
            "including untracked files.",
            env=True,
            metavar="REV",
        ),
    ] = None
    skip_unrecognised: Annotated[
        bool, option("Ignore explicitly named files of unknown type.", env=True)
    ] = False
    force_exclude: Annotated[
        bool, option("Apply exclusions to explicitly named files too.", env=True)
    ] = False


WINDOW = 2.0
"""Seconds between two readings of a host's counters, unless told otherwise."""


class HostVisitOptions(msgspec.Struct, frozen=True):
    """How hosts themselves are visited: whether a libvirt's host is, the seconds between two
    readings of counters, what the hosts are used for, and the file for a recording."""

    host_facts: Annotated[
        bool,
        option(
            "Also visit the host of each libvirt URI itself, over ssh or here, for its links, "
            "CPUs and Open vSwitch.",
            env=True,
        ),
    ] = False
    seconds: Annotated[
        float,
        option(
            "Seconds between the two readings of a visited host's counters; 0 reads them once, "
            "and rules that need rates are skipped.",
            "--window",
            type=Number(min=0, max=600),
            metavar="SECONDS",
        ),
    ] = WINDOW
    workload: Annotated[
        Workload | None,
        option(
            "Use of the network of the visited hosts, which decides what facts cannot.", env=True
        ),
    ] = None
    record: Annotated[
        str | None,
        option(
            "Also write everything that the visited host answered to FILE, which is itself a "
            "TARGET on any machine.",
            env=True,
            metavar="FILE",
            type=click.Path(dir_okay=False),
        ),
    ] = None


LaunchersOption = Annotated[
    bool,
    option(
        "Also ask the launcher of each running VM of a cluster for its domain and QEMU's "
        "arguments (needs the right to exec).",
        "--exec",
        env=True,
    ),
]


class ClusterOptions(msgspec.Struct, frozen=True):
    """Parts of a cluster that are read on request: the domains in launchers, and all pods."""

    launchers: LaunchersOption = False
    pods: Annotated[
        bool,
        option(
            "Also list all pods of a cluster, for host devices that two of them share.", env=True
        ),
    ] = False


class ReadingRequest(msgspec.Struct, frozen=True):
    """Settings, assumed versions and how to read; the command line takes precedence."""

    settings: LoadedSettings
    assumptions: Assumptions
    options: RunOptions
    catalogue: Catalogue
    """The rules, adjusted by the settings."""
    environment: Environment
    """The environment, and the settings of the same names."""

    def docs_url(self, *, redacted: bool) -> str:
        """Base URL of the documentation for links in reports. Empty if not set, and for a redacted
        report, because the host name may be the site's own."""
        return "" if redacted else self.settings.settings.docs_url or ""


def reading_of(
    reading: ReadingOptions,
    targets: Iterable[str],
    *,
    verbose: bool,
    nova: NovaOptions | None = None,
    files: FileOptions | None = None,
    servers: ServerFilter | None = None,
    visits: HostVisitOptions | None = None,
    clusters: ClusterOptions | None = None,
    domain: str | None = None,
) -> ReadingRequest:
    """Merge the options with the settings. ``targets``: places from which no rules are loaded;
    ``domain``: the only one of interest. Raises UsageError for an invalid setting or rule."""
    nova, visits = nova or NovaOptions(), visits or HostVisitOptions(seconds=0.0)
    clusters = clusters or ClusterOptions()
    trusted = environment()
    catalogue = _catalogue(trusted.rules_dir, (*targets, *nova.nova_config))
    loaded = load_settings(reading.config, trusted=trusted.trust_settings, catalogue=catalogue)
    if loaded.file is not None and verbose:
        tell(f"Settings: {safe(loaded.file)}")
    settings = loaded.settings
    assumptions = Assumptions(
        reading.assume_qemu or _version(settings.assume_qemu),
        reading.assume_libvirt or _version(settings.assume_libvirt),
        nova.nova_release or _release(settings.nova_release),
        visits.workload or settings.workload,
    )
    variables = environment(settings)
    live = LiveOptions(
        deadline=variables.deadline,
        agent=reading.agent,
        cloud=variables.cloud_deadline,
        window=visits.seconds,
        host_facts=visits.host_facts,
        record=visits.record or "",
        launchers=(domain or "") if clusters.launchers else None,
        pods=clusters.pods,
    )
    selection = _selection(reading.excluded, files or FileOptions(), loaded)
    run = RunOptions(variables.jobs, live, servers or ServerFilter(), selection, nova.nova_config)
    return ReadingRequest(loaded, assumptions, run, catalogue.adjusted(loaded.rules), variables)


def settings_in(config: str | None) -> LoadedSettings:
    """The settings of ``--config``, or of the nearest file. Raises UsageError."""
    return load_settings(config, trusted=environment().trust_settings)


def _catalogue(folders: tuple[str, ...], targets: tuple[str, ...]) -> Catalogue:
    if folders:
        refuse_audited(folders, targets)
    return catalogue_with(folders)


def _selection(excluded: tuple[str, ...], files: FileOptions, loaded: LoadedSettings) -> Selection:
    exclusions = [Exclusion(excluded)] if excluded else []
    if loaded.exclusion is not None:
        exclusions.append(loaded.exclusion)
    return Selection(
        tuple(exclusions),
        _changed(files.changed_since),
        files.force_exclude,
        files.skip_unrecognised,
    )


def _changed(revision: str | None) -> Changed | None:
    if revision is None:
        return None
    from vnicaudit.audit.reading.selection import changed_since

    return changed_since(revision)


def _release(name: str | None) -> Release | None:
    if name is None:
        return None
    from vnicaudit.knowledge.nova_conf.options import release_of

    return release_of(name)


def _version(text: str | None) -> Version | None:
    return None if text is None else Version.parse(text)


# ``-i``: the options that name the hosts of an inventory.


LimitOption = Annotated[
    str | None,
    option(
        "Use only matching hosts and groups, as with Ansible: 'zone_a,!kvm7', 'web:&prod', "
        "globs, ~REGEX, @FILE.",
        "-l",
        "--limit",
        env=True,
        metavar="PATTERN",
    ),
]


class InventoryOptions(msgspec.Struct, frozen=True):
    """Where hosts are listed, which of them are selected, the URI of hosts that have none of their
    own, and the URIs that may start programs."""

    inventories: Annotated[
        tuple[str, ...],
        option(
            "Read the hosts of SOURCE: a file (vnicaudit TOML or YAML, Ansible INI or YAML, output "
            "of ansible-inventory --list, or one libvirt URI or name per line), a folder of "
            "Ansible's, openstack:CLOUD, kube:CONTEXT, a libvirt URI, HOST,HOST, or - for standard "
            "input. Repeatable.",
            "-i",
            "--inventory",
            env=True,
            metavar="SOURCE",
        ),
    ] = ()
    limit: LimitOption = None
    uri: Annotated[
        str,
        option(
            "URI for hosts without their own; {host} is the address, {name} the name.",
            metavar="TEMPLATE",
        ),
    ] = DEFAULT_URI
    trusted_uris: Annotated[
        tuple[str, ...],
        option(
            "Allow this libvirt URI in an inventory, although it may start a program (the ext "
            "transport, command= or similar).  [repeatable]",
            "--trust-uri",
            metavar="URI",
        ),
    ] = ()

    def are_used(self, targets: tuple[str, ...]) -> bool:
        """True if the hosts of an inventory are the targets. Named targets win over an inventory in
        the environment; raises UsageError if the command line names both, or a part of no
        inventory."""
        if self.inventories and not (targets and not is_on_command_line("inventories")):
            if targets:
                raise UsageError(
                    "-i names the hosts to read: use it without TARGET, or name a host as "
                    "-i HOST or -i URI"
                )
            return True
        odd = [name for name in ("limit", "uri", "trusted_uris") if is_on_command_line(name)]
        if odd:
            option = {"trusted_uris": "trust-uri"}.get(odd[0], odd[0])
            raise UsageError(f"--{option} needs an inventory (-i)")
        return False
