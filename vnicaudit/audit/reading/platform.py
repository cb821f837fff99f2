"""Interface of a platform (a source of descriptions of NICs) to an audit, and all platforms of a
run.

The command line passes the platforms in (:mod:`vnicaudit.cli.wiring.platforms`): the audit itself
knows none of them by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

from vnicaudit.audit.reading.targets import target_of
from vnicaudit.knowledge.fixes.owners import Wordings
from vnicaudit.model.file_kind import FileKinds

if TYPE_CHECKING:
    from vnicaudit.audit.effective import Resolver
    from vnicaudit.audit.reading.targets import CloudReading, Met, Target, TargetKind
    from vnicaudit.knowledge.fixes.wording import Wording
    from vnicaudit.model.domain import DomainConfig
    from vnicaudit.model.file_kind import FileKind, Unjudged
    from vnicaudit.model.guest_words import Form
    from vnicaudit.model.host import Host
    from vnicaudit.model.live import LiveDefinition, LiveOptions
    from vnicaudit.model.platform_name import PlatformName
    from vnicaudit.model.report import ReadError


class Platform(Protocol):
    """One platform that describes NICs, as far as reading is concerned."""

    @property
    def name(self) -> PlatformName:
        """The platform's name, as in :attr:`DomainConfig.platform`."""

    @property
    def files(self) -> tuple[FileKind, ...]:
        """The kinds of files that it reads, in the order in which to try them."""

    @property
    def place_of(self) -> Callable[[str], str]:
        """Returns the place of a NIC's field in a description, relative to the NIC; a field without
        a place of its own is called by its name."""

    @property
    def targets(self) -> tuple[TargetKind, ...]:
        """The kinds of targets that it reads, beside files."""

    @property
    def resolve(self) -> Resolver | None:
        """Resolves declared settings into the settings that the guest gets; None: it describes no
        NICs."""

    @property
    def titles(self) -> Mapping[Form, str]:
        """Titles for the layer of its definition, by the form of the definition."""

    @property
    def wordings(self) -> Mapping[str, Wording]:
        """Wordings of fixes for owners that the platform adds, by their names."""


class Platforms:
    """All platforms of a run. Raises ValueError if two have the same name."""

    def __init__(self, platforms: Iterable[Platform], unjudged: Unjudged) -> None:
        """``unjudged``: finds parts of files that no platform reads."""
        self.all = tuple(platforms)
        self._by_name = {platform.name: platform for platform in self.all}
        if len(self._by_name) < len(self.all):
            raise ValueError("two platforms of one name")
        files = tuple(kind for platform in self.all for kind in platform.files)
        self.files = FileKinds(files, unjudged)
        """Every kind of file, in the order in which to try them."""
        self.read_together = tuple(kind.together for kind in files if kind.together is not None)
        """The readers of files that one program reads together."""
        self.targets = tuple(kind for platform in self.all for kind in platform.targets)
        """Every kind of target except files."""
        own = (wording for platform in self.all for wording in platform.wordings.items())
        self.wordings = Wordings(dict(own))
        """The words of fixes for each owner."""

    def resolver(self, domain: DomainConfig) -> Resolver:
        """The resolver for the NICs of a domain. Raises KeyError if its platform is not among
        these."""
        found = self._by_name[domain.platform].resolve
        if found is None:
            raise KeyError(domain.platform)
        return found

    def kind_of(self, target: Target) -> TargetKind | None:
        """The kind of a target; None for files and standard input."""
        return next((kind for kind in self.targets if kind.kind == target.kind), None)

    def cloud(self, target: Target, live: LiveOptions) -> CloudReading:
        """Everything in a cloud. Raises KeyError for a target that is not a cloud."""
        kind = self.kind_of(target)
        if kind is None or kind.cloud is None:
            raise KeyError(target.kind)
        return kind.cloud(target.name, live)

    def read_live(self, name: str, live: LiveOptions) -> Iterator[Met]:
        """The domains, hosts and errors read at a live target. Raises KeyError for a target that is
        not read live, UsageError for an invalid one."""
        kind = self.kind_of(target_of(name, self.targets))
        if kind is None or kind.read is None:
            raise KeyError(name)
        return kind.read(name, live)

    def read_definitions(
        self, name: str, live: LiveOptions
    ) -> Iterator[Host | LiveDefinition | ReadError]:
        """A live host and the definitions on it. Raises KeyError for a target without any,
        UsageError for an invalid one."""
        kind = self.kind_of(target_of(name, self.targets))
        if kind is None or kind.definitions is None:
            raise KeyError(name)
        return kind.definitions(name, live)

    def probe(self, name: str, live: LiveOptions) -> str:
        """A short description of the service that answers at a live target, such as its host name
        and version. Raises TargetError if there is no answer, KeyError for a target that cannot be
        probed."""
        kind = self.kind_of(target_of(name, self.targets))
        if kind is None or kind.probe is None:
            raise KeyError(name)
        return kind.probe(name, live)

    def place_of(self, field: str, domain: DomainConfig) -> str:
        """The place of a NIC's field in a definition, relative to the NIC."""
        return self._by_name[domain.platform].place_of(field)

    def title(self, domain: DomainConfig) -> str:
        """The title of the layer of a domain's definition."""
        return self._by_name[domain.platform].titles.get(domain.form, "")
