"""What a rule module must offer: checked by a test, and for those who write one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from vnicaudit.model.finding import Severity
from vnicaudit.model.rule import (
    ConfigSubject,
    DomainSubject,
    FlavorSubject,
    HostSubject,
    ImageSubject,
    MacSubject,
    PreferenceSubject,
    Problem,
    Scope,
    SiteSubject,
    Subject,
)


class Rule(Protocol):
    """The shape of a rule module. ``NEEDS`` names facts (see ``vnicaudit/audit/facts.py``)
    without which the rule is skipped, and reported as skipped."""

    __doc__: str | None
    NAME: str
    """Short kebab-case name, unique."""
    SEVERITY: Severity
    SCOPE: Scope
    NEEDS: tuple[str, ...]


class NicRule(Rule, Protocol):
    """A rule judged once per NIC."""

    def applies(self, subject: Subject) -> bool:
        """Whether this rule has anything to say about this NIC; asked before ``NEEDS``."""

    def check(self, subject: Subject) -> Iterator[Problem]:
        """The problems of this NIC."""


class DomainRule(Rule, Protocol):
    """A rule judged once per domain."""

    def applies(self, subject: DomainSubject) -> bool:
        """Whether this rule has anything to say about this domain."""

    def check(self, subject: DomainSubject) -> Iterator[Problem]:
        """The problems of this domain."""


class HostRule(Rule, Protocol):
    """A rule judged once per host."""

    def applies(self, subject: HostSubject) -> bool:
        """Whether this rule has anything to say about this host."""

    def check(self, subject: HostSubject) -> Iterator[Problem]:
        """The problems of this host."""


class ConfigRule(Rule, Protocol):
    """A rule judged once per configuration file.

    A rule may judge descriptions of other scopes too: its module then offers, say,
    ``CONFIG_NEEDS``, ``applies_config`` and ``check_config``, each as the name without the word.
    A rule of NICs or domains judges those of KubeVirt manifests where its module says
    ``MANIFESTS = True``, and those of OpenStack servers where it says ``SERVERS = True``: most look
    at what only libvirt and QEMU know. Where what a rule finds on a server comes about by itself,
    and no change is proposed, its module says ``UNASKED = True``: a plan tells what it leaves.
    """

    def applies(self, subject: ConfigSubject) -> bool:
        """Whether this rule has anything to say about this configuration."""

    def check(self, subject: ConfigSubject) -> Iterator[Problem]:
        """The problems of this configuration."""


class SiteRule(Rule, Protocol):
    """A rule judged once per compute node that differs from others, when all have been read."""

    def applies(self, subject: SiteSubject) -> bool:
        """Whether this rule has anything to say about this node."""

    def check(self, subject: SiteSubject) -> Iterator[Problem]:
        """The problems of this node."""


class MacRule(Rule, Protocol):
    """A rule judged once per NIC that shares its MAC address, when all have been read."""

    def applies(self, subject: MacSubject) -> bool:
        """Whether this rule has anything to say about this NIC."""

    def check(self, subject: MacSubject) -> Iterator[Problem]:
        """The problems of this NIC."""


class ImageRule(Rule, Protocol):
    """A rule judged once per image."""

    def applies(self, subject: ImageSubject) -> bool:
        """Whether this rule has anything to say about this image."""

    def check(self, subject: ImageSubject) -> Iterator[Problem]:
        """The problems of this image."""


class FlavorRule(Rule, Protocol):
    """A rule judged once per flavor."""

    def applies(self, subject: FlavorSubject) -> bool:
        """Whether this rule has anything to say about this flavor."""

    def check(self, subject: FlavorSubject) -> Iterator[Problem]:
        """The problems of this flavor."""


class PreferenceRule(Rule, Protocol):
    """A rule judged once per preference."""

    def applies(self, subject: PreferenceSubject) -> bool:
        """Whether this rule has anything to say about this preference."""

    def check(self, subject: PreferenceSubject) -> Iterator[Problem]:
        """The problems of this preference."""
