"""The product is killed at every place, run again or taken back; nothing may be lost.

    python -m tests.rig.faults --kills 500 [--seed 1]

kills it 500 times: at each place of each mode in turn, and then at random times.
"""

from __future__ import annotations

import argparse
import fcntl
import itertools
import json
import random
import stat
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tests.rig.domain_xml import Nic
from tests.rig.errors import Missing
from tests.rig.guests import Guest, GuestFactory
from tests.rig.hooks import Command, Ended, Fault, command, faults
from tests.rig.hypervisor import running_hypervisor
from tests.rig.remedy import MAC, SYSTEM

Resume = Literal["apply", "rollback"]
_CALLS = ("define", "start", "detach", "attach")


@dataclass
class Tally:
    """How often what was killed, over all walks."""

    kills: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def __str__(self) -> str:
        parts = ", ".join(f"{number} {name}" for name, number in sorted(self.kills.items()))
        return f"{self.kills.total()} kills in {self.seconds:.0f} s, nothing lost ({parts})"


TALLY = Tally()


class Walk:
    """One guest that goes to its goal and back, again and again, by commands that are killed.

    ``words`` are options of apply and rollback. A clean walk there and back comes first: it says
    what the goal is and which places there are.
    """

    def __init__(self, guest: Guest, folder: Path, mode: str, *words: str, code: int = 0) -> None:
        self.guest, self.mode, self._code = guest, mode, code
        self._state = folder / "state"
        self._plan = folder / "plan.json"
        self._words = ("--yes", "--quiet", "--mode", mode, "--state", self._state, *words)
        self._on = bool(guest.domain.isActive())
        self._before = self.definition()
        self._began = time.monotonic()
        made = command("plan", SYSTEM, "--domain", guest.name, "-o", self._plan, "--quiet")
        assert made.code == 0, made.said
        there = self._whole(self._apply())
        self._goal = self.definition()
        assert self._goal != self._before
        back = self._whole(self._rollback(self._last()["id"]))
        self._check(self._before)
        self.seconds = there.seconds, back.seconds
        self.there, self.back = faults(there.passed), faults(back.passed)

    def kill_going(self, fault: Fault | float, resume: Resume) -> None:
        """On the way to the goal; it is where it began at the end."""
        run = self._killed(["apply", self._plan, *self._words], fault)
        if resume == "apply":
            self._whole(self._apply(), before=run)
            self._check(self._goal)
            self._back_again()
        elif self._runs():
            self._whole(self._rollback(self._first()), before=run, undone=True)
            self._check(self._before)
        self._forget()

    def kill_coming_back(self, fault: Fault | float, resume: Resume) -> None:
        """On the way back from the goal; it is where it began at the end."""
        self._whole(self._apply())
        first = self._first()
        run = self._killed(["rollback", first, *self._words], fault)
        back = self._last()
        if resume == "apply" and back["id"] != first and back["outcome"] == "unfinished":
            self._whole(self._rollback(back["id"]), before=run, undone=True)
            self._check(self._goal)
            run = None
        self._whole(self._rollback(first), before=run)
        self._check(self._before)
        self._forget()

    def definition(self) -> str:
        """The persistent one, passwords included."""
        flags = 1 | 2  # VIR_DOMAIN_XML_SECURE, VIR_DOMAIN_XML_INACTIVE
        return str(self.guest.domain.XMLDesc(flags))
