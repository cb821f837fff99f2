"""The view that a rule has of a NIC, a domain, a host, a node, or NICs with one MAC address.
A rule on a configuration, an image… sees its :class:`~vnicaudit.model.finding.Description` itself.

The answers of a rule are defined in :mod:`vnicaudit.model.rule`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from vnicaudit.model.nic import NONE

if TYPE_CHECKING:
    from vnicaudit.model.domain import DomainConfig, DomainState, StagedNic
    from vnicaudit.model.host import Difference, HostConfig, SiteNode
    from vnicaudit.model.macs import NicSeen
    from vnicaudit.model.nic import Effective, NicConfig, PathMtu, RunningNic


class Subject(msgspec.Struct, frozen=True, cache_hash=True):
    """One NIC as a rule sees it: what is set, its effective values, and its surroundings.

    It has no name, MAC, UUID or file: two NICs configured alike get the same result, which the
    auditor may reuse.
    """

    nic: NicConfig
    effective: Effective
    domain: DomainConfig
    host: HostConfig
    running: RunningNic | None = None
    state: DomainState | None = None
    staged: StagedNic | None = None
    path: PathMtu | None = None

    @property
    def model(self) -> str:
        """The effective model; ``""`` when unknown or none, so that it can be compared."""
        return self.effective.model.effective or ""

    @property
    def backend(self) -> str | None:
        """The actual interface type: bridge, ethernet, direct, vhostuser…; None when unknown."""
        return self.nic.actual_type

    @property
    def arch(self) -> str | None:
        """The guest's architecture; the host's if the definition names none."""
        return self.domain.arch or self.host.arch

    @property
    def tuned(self) -> bool:
        """True if libvirt reads ``<driver queues= rx_queue_size= …>`` of this NIC: never on an
        assigned device; else see :attr:`~vnicaudit.model.nic.NicConfig.tuning_is_read`."""
        return self.nic.tuning_is_read and self.effective.model.state != NONE

    @property
    def proven(self) -> bool:
        """True if a running QEMU proves that this NIC starts, on the versions judged for."""
        return self.running is not None and not self.host.assumed


class DomainSubject(msgspec.Struct, frozen=True):
    """A whole domain as a domain rule sees it."""

    nics: tuple[Subject, ...]
    domain: DomainConfig
    host: HostConfig
    state: DomainState | None = None
    coming: tuple[str, ...] = ()
    """MACs of NICs that only the persistent definition has; nothing else identifies them."""


class HostSubject(msgspec.Struct, frozen=True):
    """A host as a host rule sees it. ``uses`` lists the traits of its domains' NICs that matter to
    the host: actual types, plus ``kvm-tap`` if one of them gets vhost-net if the host has it."""

    host: HostConfig
    uses: frozenset[str] = frozenset()


class SiteSubject(msgspec.Struct, frozen=True):
    """One compute node compared with the others of its site, as a site rule sees it. ``field`` of a
    problem names the option."""

    node: SiteNode
    differences: tuple[Difference, ...] = ()


class MacSubject(msgspec.Struct, frozen=True):
    """One NIC together with the ``other_nics`` of the run that have its MAC address: of its own
    guest or of another one. Only here does a rule see identities, because it compares them."""

    nic: NicSeen
    other_nics: tuple[NicSeen, ...]
