"""What a rule is given, and what it answers. What its module must offer: ``rule_module.py``.

A rule is a module in :mod:`vnicaudit.rules` named after its id (``vnic001.py``); its docstring is
its manual page. It is pure: it sees these records and nothing else.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from vnicaudit.model.domain import DomainConfig, DomainState, StagedNic
from vnicaudit.model.effective import NONE, Effective
from vnicaudit.model.finding import Change, Confidence, Severity
from vnicaudit.model.host import HostConfig
from vnicaudit.model.kubevirt import Preference
from vnicaudit.model.location import Location
from vnicaudit.model.macs import NicSeen
from vnicaudit.model.models import tuning_read
from vnicaudit.model.nic import NicConfig, PathMtu, RunningNic
from vnicaudit.model.nova import NovaConfig
from vnicaudit.model.openstack import Flavor, Image
from vnicaudit.model.site import Difference, Node

Scope = Literal["nic", "domain", "host", "config", "image", "flavor", "preference", "site", "mac"]


class Subject(msgspec.Struct, frozen=True):
    """One NIC as a rule sees it: what is set, what it really is, and what surrounds it.

    No name, MAC, UUID or file: two NICs set alike get the same answer, and the engine may
    answer the second from memory.
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
        """The guest's architecture; the host's where the definition names none."""
        return self.domain.arch or self.host.arch

    @property
    def tuned(self) -> bool:
        """Whether libvirt reads ``<driver queues= rx_queue_size= …>`` of this NIC at all: never on
        an assigned device; else see :func:`~vnicaudit.model.models.tuning_read`."""
        return tuning_read(self.nic.model) and self.effective.model.state != NONE

    @property
    def proven(self) -> bool:
        """Whether a running QEMU proves that this NIC starts, on the versions judged for."""
        return self.running is not None and not self.host.assumed


class DomainSubject(msgspec.Struct, frozen=True):
    """A whole domain as a domain rule sees it."""

    nics: tuple[Subject, ...]
    domain: DomainConfig
    host: HostConfig
    state: DomainState | None = None
    coming: tuple[str, ...] = ()
    """MACs of NICs that only the persistent definition has: all that tells which they are."""


class HostSubject(msgspec.Struct, frozen=True):
    """A host as a host rule sees it. ``uses`` lists the traits of its domains' NICs that bear on
    the host: actual types, plus ``kvm-tap`` when one of them gets vhost-net if the host has it."""

    host: HostConfig
    uses: frozenset[str] = frozenset()


class ConfigSubject(msgspec.Struct, frozen=True):
    """One configuration file of a control plane, as a config rule sees it.

    A rule asks ``nova`` for options; it points a problem at one with ``field``,
    ``section/name``. A change of such a rule names the option; its ``fix`` says the whole of it.
    """

    nova: NovaConfig


class SiteSubject(msgspec.Struct, frozen=True):
    """One compute node beside the others of its site, as a site rule sees it. ``field`` of a
    problem is that of the option it is about."""

    node: Node
    differences: tuple[Difference, ...] = ()


class MacSubject(msgspec.Struct, frozen=True):
    """One NIC beside ``others`` of the run that have its MAC address: another NIC of its guest, or
    one of another guest. Here alone a rule sees who is who: that is what it is about."""

    nic: NicSeen
    others: tuple[NicSeen, ...]


class ImageSubject(msgspec.Struct, frozen=True):
    """One image as an image rule sees it. ``field`` of a problem is a property's name."""

    image: Image


class FlavorSubject(msgspec.Struct, frozen=True):
    """One flavor as a flavor rule sees it. ``field`` of a problem is an extra spec's name."""

    flavor: Flavor


class PreferenceSubject(msgspec.Struct, frozen=True):
    """One KubeVirt preference as a preference rule sees it."""

    preference: Preference


DescriptionSubject = ConfigSubject | ImageSubject | FlavorSubject | PreferenceSubject
AnySubject = Subject | DomainSubject | HostSubject | SiteSubject | MacSubject | DescriptionSubject


class Problem(msgspec.Struct, frozen=True):
    """One thing a rule found. The engine adds which NIC, where, and the fingerprint.

    ``field`` is the declared field it hangs on (points the finding at its line);
    ``severity`` None means the rule's own; ``fix`` is the whole text where no ``change`` can be
    made, and is added to it where one can. ``fixes`` (owner -> text) replaces ``fix`` for owners
    to whom other words apply.
    """

    message: str
    field: str | None = None
    severity: Severity | None = None
    confidence: Confidence = "high"
    change: Change | None = None
    fix: str = ""
    fixes: dict[str, str] = {}
    related: tuple[Location, ...] = ()
    """Other places that have to do with it; of descriptions only: a NIC has no place here."""

    def fix_for(self, owner: str) -> str:
        """The rule's own words to an owner."""
        return self.fixes.get(owner, self.fix)
