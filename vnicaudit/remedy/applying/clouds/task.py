"""One server, image or flavor on its way: all that is to be remembered of it before it begins."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from vnicaudit.model.plan import Mode
from vnicaudit.model.runs import CloudObject
from vnicaudit.remedy.applying.task import Baseline, Wanted
from vnicaudit.text.cloud_names import client
from vnicaudit.text.shell import word

Properties = dict[str, str | None]
"""Names as Nova and Glance have them; None: not set."""


class Shown(msgspec.Struct, frozen=True):
    """What a running server showed before anything was done. ``ports``: ids of those that were
    ACTIVE; ``sent``: MAC -> whether Nova counted packets from it; ``domain``: what its hypervisor
    and its guest's agent showed, where they could be asked."""

    ports: tuple[str, ...] = ()
    sent: dict[str, bool] = {}
    domain: Baseline | None = None


class CloudTask(msgspec.Struct, frozen=True):
    """``before`` are the properties as they were when it began, ``goal`` as they are to be,
    ``back`` as the way back makes them: not always ``before``, for what Nova keeps cannot be
    unset."""

    key: str
    name: str
    target: str
    steps: tuple[str, ...]
    object: CloudObject
    id: str
    mode: Mode
    before: Properties
    goal: Properties
    back: Properties
    active: bool = False
    """The server ran when it began: it is to run when it ends."""
    state: str = ""
    """Of a server: what its status was."""
    shown: Shown = Shown()
    wanted: tuple[Wanted, ...] = ()
    """What is to be of its NICs in the domain's definition, where that can be looked at."""
    shared: tuple[str, ...] = ()
    """Volumes that other servers have attached too: one of them is worked on at a time."""
    again: bool = False
    """Of a server: an earlier run may have set what it shows by half, so it is set once more."""
    copy: str = ""
    """Of a flavor: the id of the copy that is made."""
    copy_name: str = ""
    removes: bool = False
    """Of a flavor: the copy is to go; a way back."""
    caution: str = ""
    """What to know of it afterwards."""

    def inverse(self) -> CloudTask:
        """The way back."""
        return replace(
            self,
            before=self.goal,
            goal=self.back,
            back=self.goal,
            wanted=tuple(one.inverse() for one in reversed(self.wanted)),
            removes=not self.removes,
        )

    def command(self, words: str) -> str:
        """What to type to do something to it by hand."""
        return f"{client(self.target)} {words} {word(self.id)}"
