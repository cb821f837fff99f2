"""Notes on a whole reading: the release of Nova, what is hidden from this user, and which table was
used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vnicaudit.base.wording import count
from vnicaudit.knowledge.nova_releases import IMAGE_PROPERTY
from vnicaudit.knowledge.readiness import Models
from vnicaudit.model.server import NovaVersions
from vnicaudit.platforms.openstack.connect import CloudLogin
from vnicaudit.platforms.openstack.failures import plain

_TOLD_BY = 31
_REGIONS = 20
"""Maximum number of regions that are named."""


class ReadingFacts(NamedTuple):
    """Facts from the lists. None: not requested, not answered (which is an error of its own), or
    unknown because there is nothing to derive it from."""

    nova: NovaVersions
    stored_properties: bool
    """Nova reports the image properties that it has stored for a server."""
    all_projects: bool | None
    hosts: bool | None
    bindings: bool | None
    hidden: tuple[str, ...] = ()
    """Parts of the lists that are hidden from this user."""
    project: str = ""
    unnamed: int = 0
    """Number of projects whose servers are shown, but whose names are unknown."""
    names: str = ""
    """The reason why Keystone did not report the names; empty: it did not list them."""
    osinfo: Models | None = None
    """The source for ``os_distro``; None: no image has one."""
    scope: str = ""
    """The scope of the login; empty: a project, in the only region."""


def notes_of(seen: ReadingFacts) -> tuple[str, ...]:
    """The notes, one sentence each."""
    return tuple(_notes(seen))


def _notes(seen: ReadingFacts) -> Iterator[str]:
    yield release(seen.nova)
    if seen.scope:
        yield seen.scope
    if not seen.stored_properties:
        yield _not_told(seen.nova)
    if hidden := list(_hidden(seen)):
        tenant = seen.all_projects is False
        whom = f"a tenant of project {seen.project!r}" if tenant else "this user"
        yield f"shown to an admin, but not to {whom}: {'; '.join(hidden)}"
    if seen.unnamed:
        many = f"{count(seen.unnamed, 'project')} {'is' if seen.unnamed == 1 else 'are'}"
        why = seen.names or "it does not list them to this user, or they were deleted"
        yield f"{many} shown by id: Keystone did not give the name ({why})"
    if seen.osinfo is not None:
        of = "of this machine" if seen.osinfo.installed else "that comes with vnicaudit"
        yield (
            f"the model that os_distro implies is taken from the table {of} (osinfo-db "
            f"{seen.osinfo.version}); the table on each compute node decides"
        )


def scope_of(cloud: CloudLogin) -> str:
    """A sentence on which of several regions was read, and on a token without a project; empty if
    neither applies."""
    regions = cloud.regions
    region = str(cloud.region.region_name or (regions or ("",))[0])
    parts = []
    if cloud.system_scoped:
        parts.append(
            "the token is of the system scope, to which Nova and Glance show no project's "
            "resources: log in to a project (project_name and project_domain_name, without "
            "system_scope)"
        )
    if len(regions) > 1:
        shown = ", ".join(plain(each) for each in regions[:_REGIONS])
        hint = "" if "/" in cloud.name else f"; {cloud.target}/* reads them all"
        parts.append(f"region {plain(region)}, 1 of {len(regions)} ({shown}){hint}")
    return "; ".join(parts)


def release(nova: NovaVersions) -> str:
    """The release in words, such as ``Nova 29 or 30 (its API goes to 2.96)``."""
    if not nova.microversion:
        return "the release of Nova is unknown: its API reports no microversion"
    oldest, newest = nova.oldest, nova.newest
    if oldest is None:
        which = f"{newest} or older"
    elif newest is None:
        which = f"newer than {oldest}"
    else:
        which = str(oldest) if oldest == newest else f"{oldest} or {newest}"
    return f"Nova {which} (its API goes to {nova.microversion})"


def _not_told(nova: NovaVersions) -> str:
    text = (
        "this Nova does not report which image properties it keeps for a server (2.98 does, Nova "
        f"{_TOLD_BY}): those of the image are used if it has not changed since, otherwise they "
        "are unknown"
    )
    if nova.newest is not None and nova.newest < IMAGE_PROPERTY:
        return text
    return f"{text}; changes by nova-manage image_property set are not visible"


def _hidden(seen: ReadingFacts) -> Iterator[str]:
    if seen.all_projects is False:
        yield "servers of other projects, and images that only they see"
    if seen.hosts is False:
        yield "the host of a server and its name in libvirt"
    yield from seen.hidden
    if seen.bindings is False:
        yield "how ports are bound (binding:vif_type)"
