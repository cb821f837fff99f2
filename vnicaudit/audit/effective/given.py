"""What a resolver is given, and what it answers."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

import msgspec

from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.effective import Resolved
from vnicaudit.model.host import HostConfig
from vnicaudit.model.models import tuning_read
from vnicaudit.model.nic import NicConfig, RunningNic

T = TypeVar("T")

NOT_READ = "libvirt reads <driver> only when <model type='virtio'/> is written"
NO_MODEL = "depends on the model, which is not known"


class Given(NamedTuple):
    """A NIC that QEMU emulates, and what bears on it."""

    nic: NicConfig
    domain: DomainConfig
    host: HostConfig
    running: RunningNic | None

    @property
    def proven(self) -> bool:
        """A running QEMU proves that the NIC starts, on the versions judged for."""
        return self.running is not None and not self.host.assumed

    @property
    def tuned(self) -> bool:
        """libvirt reads ``<driver>`` of this NIC."""
        return tuning_read(self.nic.model)

    def unreadable(self, field: str) -> bool:
        """The field is text that libvirt refuses, where it reads it."""
        return self.tuned and any(name == field for name, _text in self.nic.invalid)


class Outcome(msgspec.Struct, Generic[T], frozen=True):
    """One fact resolved. ``refused``: as it is declared libvirt or QEMU is certain not to start
    it, whatever an older QEMU may be running."""

    value: Resolved[T]
    refused: bool = False
