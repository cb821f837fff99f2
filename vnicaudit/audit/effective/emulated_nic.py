"""A NIC that QEMU emulates, as resolvers see it, and the fact that a resolver returns."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

import msgspec

from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.effective import Resolved
from vnicaudit.model.guest_words import DESCRIPTORS, LOG
from vnicaudit.model.host import HostConfig
from vnicaudit.model.nic import Behind, NicConfig, RunningNic

T = TypeVar("T")

NOT_READ = "libvirt reads <driver> only when <model type='virtio'/> is written"
WHOSE = "{} changes it on this NIC or another one: the running guest's aliases would show which"
NO_MODEL = "depends on the model, which is not known"


class EmulatedNic(NamedTuple):
    """A NIC that QEMU emulates, and the facts that affect it."""

    nic: NicConfig
    domain: DomainConfig
    host: HostConfig
    running: RunningNic | None

    @property
    def proven(self) -> bool:
        """True if a running QEMU proves that the NIC starts, on the versions judged for."""
        return self.running is not None and not self.host.assumed

    @property
    def runs(self) -> bool:
        """True if :attr:`proven`, and not by arguments alone, which may be from a start that failed
        (a log, a pasted line, ``<qemu:commandline>``)."""
        if not self.proven or self.running is None:
            return False
        if self.nic.origin == "interface":
            return self.running.evidence != LOG
        return self.running.evidence == DESCRIPTORS

    @property
    def arch(self) -> str | None:
        """The guest's architecture; the host's if the definition names none."""
        return self.domain.arch or self.host.arch

    @property
    def tuned(self) -> bool:
        """True if libvirt reads ``<driver>`` of this NIC."""
        return self.nic.tuning_is_read

    def override(self, name: str) -> Behind | None:
        """The setting of ``<qemu:override>`` or ``-set`` for this property; None without one."""
        return next((one for one in self.nic.behind if one.name == name), None)

    def unreadable(self, field: str) -> bool:
        """True if libvirt reads the field, and refuses its text."""
        return self.tuned and any(name == field for name, _text in self.nic.invalid)


class ResolvedFact(msgspec.Struct, Generic[T], frozen=True):
    """One fact, resolved. ``refused``: libvirt or QEMU is known not to start it at the next start
    as declared, whatever runs now."""

    value: Resolved[T]
    refused: bool = False
