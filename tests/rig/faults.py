"""The product is killed at every place, run again or taken back; nothing may be lost.

    python -m tests.rig.faults [--kills 500] [--seed 1] [--walk restart] [--seconds 100]

kills it on the way of each mode, there and back: at each place that there is, and then at random
times. When the seconds are over no kill is begun any more, but for the first two of each walk. Its
standard output and standard error are closed, full or left by their readers, at random.
"""

import argparse
import fcntl
import random
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from subprocess import PIPE
from typing import Literal

import libvirt

from tests.rig.domain_xml import MAC, Definition, Nic
from tests.rig.guests import Guest, GuestFactory
from tests.rig.hooks import ERRORS, OUTPUTS, Command, Ended, Fault, Passed, Streams, command, faults
from tests.rig.hypervisor import Hypervisor, running_hypervisor
from tests.rig.process import log
from tests.rig.remedy import SYSTEM
from vnicaudit.model.runs import RunRecord
from vnicaudit.remedy.applying.history import runs

Resume = Literal["go on", "undo"]
RESUMES: tuple[Resume, ...] = ("go on", "undo")
_TALLY: Counter[str] = Counter()
_STREAMS: Counter[tuple[str, str]] = Counter()
QUIET_ROM = "<rom enabled='no'/>"
LEAST = 2
"""Kills of each walk, however long they take."""


class Budget:
    """Kills that a walk is to make, and the time after which it begins no other."""

    def __init__(self, kills: int, seconds: float | None = None) -> None:
        self.kills = kills
        self._end = time.monotonic() + (float("inf") if seconds is None else seconds)

    def is_spent(self) -> bool:
        """Whether the time is over, and the least that is to be seen was seen."""
        return time.monotonic() > self._end and _TALLY.total() >= min(LEAST, self.kills)


class Walk:
    """One guest on its way to virtio and back, by commands that are killed and run again.

    ``words`` are options of apply and rollback, ``code`` what they exit with where all is well;
    ``well`` looks into the guest. A clean walk comes first: it says what the goal is, and which
    places there are.
    """

    def __init__(
        self,
        guest: Guest,
        folder: Path,
        mode: str,
        *words: str,
        code: int = 0,
        well: Callable[[Guest], None] | None = None,
        seed: int = 0,
    ) -> None:
        self._guest, self._mode, self._code, self._well = guest, mode, code, well
        self._state, self._plan = folder / "state", folder / "plan.json"
        self._words: tuple[str | Path, ...] = (
            "--yes",
            "--mode",
            mode,
            "--state",
            self._state,
            *words,
        )
        self._chance = random.Random(seed)
        self._places = 0
        self._on = bool(guest.domain.isActive())
        self.name = f"{mode} of a guest that is {'on' if self._on else 'off'}"
        self._before = self._goal = self._where = _definition(guest)
        made = command("plan", SYSTEM, "--domain", guest.name, "-o", self._plan, "--quiet")
        assert made.code == 0, made.said
        there = self._apply()
        self._goal = _definition(guest)
        assert self._goal != self._before
        back = self._rollback(self._runs()[0].id)
        self._end([None], self._before)
        self.seconds = max(there.seconds, back.seconds)
        self.there, self.back = faults(there.passed), faults(back.passed)
        self._places = len(there.passed)

    def kill_there(self, fault: Fault | float, resume: Resume) -> bool:
        """On the way to the goal; whether it is there at the end, or where it began."""
        killed = self._killed(["apply", self._plan, *self._words], fault)
        if resume == "go on":
            self._end([killed, self._apply()], self._goal)
            return True
        went = [killed] + [self._rollback(run.id, undo=True) for run in self._runs()]
        self._end(went, self._before)
        return False

    def kill_back(self, fault: Fault | float, resume: Resume) -> None:
        """On the way back; it is where it began at the end."""
        first = self._runs()[-1].id
        killed = self._killed(["rollback", first, *self._words], fault)
        last = self._runs()[0]
        if resume == "undo" and last.id != first and last.outcome == "unfinished":
            self._end([killed, self._rollback(last.id, undo=True)], self._goal)
            killed = None
        self._end([killed, self._rollback(first)], self._before)

    def go(self) -> None:
        """To the goal, without being killed."""
        self._end([self._apply()], self._goal)

    def come_back(self) -> None:
        """Back, without being killed."""
        self._end([self._rollback(self._runs()[-1].id)], self._before)

    def _apply(self) -> Ended:
        done = command("apply", self._plan, *self._words, streams=self._streams())
        # what was killed behind its end is so already: nothing is looked at any more
        assert done.code in (0, self._code), (done, self._runs())
        return done

    def _rollback(self, run: str, *, undo: bool = False) -> Ended:
        done = command("rollback", run, *self._words, streams=self._streams())
        assert done.code in ((0, self._code) if undo else (self._code,)), (done, self._runs())
        return done

    def _killed(self, words: Sequence[str | Path], fault: Fault | float) -> Ended | None:
        """The command, as far as it came; None where nobody can tell. What it left is looked at:
        it may be half done, but nothing else."""
        known = self._runs()
        if isinstance(fault, Fault):
            killed = command(*words, fault=fault, streams=self._streams())
            # a guest that is slower or quicker than on the clean walk may take it past fewer places
            passed = sum(one.place == fault.place for one in killed.passed)
            assert killed.code == (-9 if passed >= fault.number else self._code), killed
        else:
            one = Command(words, streams=self._streams())
            time.sleep(fault)
            one.kill()
            killed = one.wait()
            assert killed.code in (-9, self._code), killed
        if killed.code == -9:
            _TALLY[self._mode] += 1
        self._look(killed)
        if not isinstance(fault, Fault):
            return None
        over = Passed("behind line", "end") in killed.passed
        for run in self._runs()[: -len(known) or None]:
            assert run.outcome == ("unfinished" if not over else "done"), (run, killed)
        return killed

    def _streams(self) -> Streams:
        """Broken in any way, but for the clean walk's."""
        if not self._places:
            return Streams()
        chance = self._chance
        streams = Streams(
            chance.choice(OUTPUTS), chance.choice(ERRORS), chance.randint(1, self._places)
        )
        _STREAMS[streams[:2]] += 1
        return streams

    def _look(self, killed: Ended) -> None:
        assert _definition(self._guest) in (self._before, self._goal), killed
        assert self._guest.domain.isActive() == self._on or self._mode == "restart", killed
        private(self._state)
        free(self._state)

    def _end(self, legs: Sequence[Ended | None], wanted: str) -> None:
        """All is as it should be, and was changed no more than once."""
        assert _definition(self._guest) == wanted, legs
        assert self._guest.domain.isActive() == self._on, legs
        assert not _unfinished(self._runs()), legs
        private(self._state)
        if None not in legs:
            self._count([leg for leg in legs if leg is not None], turned=wanted != self._where)
        self._where = wanted
        if self._well is not None:
            self._well(self._guest)
        if wanted == self._before:
            shutil.rmtree(self._state, ignore_errors=True)

    def _count(self, legs: Sequence[Ended], *, turned: bool) -> None:
        """Changed once, or not at all: there and back at most."""
        calls = Counter(
            one.what for leg in legs for one in leg.passed if one.place == "behind call"
        )
        times = (1,) if turned else (0, 2)
        assert calls["define"] in times, (calls, legs)
        if self._on and self._mode == "restart":
            assert calls["start"] in (times if turned else (0, 1, 2)), (calls, legs)
        if self._on and self._mode == "hotswap":
            assert calls["detach"] == calls["attach"], (calls, legs)
            assert calls["attach"] in (times if turned else (0, 1, 2)), (calls, legs)

    def _runs(self) -> list[RunRecord]:
        return runs(str(self._state))


def _definition(guest: Guest) -> str:
    """The persistent one, passwords included."""
    flags = libvirt.VIR_DOMAIN_XML_INACTIVE | libvirt.VIR_DOMAIN_XML_SECURE
    return str(guest.domain.XMLDesc(flags))


def _unfinished(found: Sequence[RunRecord]) -> bool:
    return any(run.outcome == "unfinished" for run in found)


def private(folder: Path) -> None:
    """Nobody else may look into the state folder."""
    for path in (folder, *folder.rglob("*")) if folder.exists() else ():
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), (path, oct(mode))


def free(folder: Path) -> None:
    """Nobody holds a host."""
    for path in folder.glob("locks/*"):
        with path.open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def every_place(
    walk: Walk, budget: Budget, *, there: Sequence[Fault], back: Sequence[Fault]
) -> None:
    """Kill it at each of these places, going on and undoing in turn."""
    ways, returns = list(there), list(back)
    for number in count():
        if (not ways and not returns) or budget.is_spent():
            return
        resume: Resume = "undo" if number % 2 and ways else "go on"
        if not ways:
            walk.go()
        elif not walk.kill_there(ways.pop(0), resume):
            continue
        if returns:
            walk.kill_back(returns.pop(0), "undo" if number % 4 == 2 else "go on")
        else:
            walk.come_back()


def random_times(walk: Walk, budget: Budget, seed: int) -> None:
    """Kill it until there were as many kills as there are to be, whenever it happens to be."""
    log(f"{walk.name}: {budget.kills - _TALLY.total()} kills at random times, seed {seed}")
    chance = random.Random(seed)
    while _TALLY.total() < budget.kills and not budget.is_spent():
        resume, resume_back = (chance.choice(RESUMES) for _ in range(2))
        later, later_back = (chance.uniform(0, walk.seconds) for _ in range(2))
        if walk.kill_there(later, resume):
            walk.kill_back(later_back, resume_back)


def journal_steps(places: Sequence[Fault]) -> list[Fault]:
    """Each line of the journal once: before it, within it, behind it."""
    lines = ("before line", "within line", "behind line")
    numbers = [fault.number for fault in places if fault.place == lines[0]]
    return [Fault(lines[number % 3], number) for number in numbers]


def spread(places: Sequence[Fault], number: int, chance: random.Random) -> list[Fault]:
    """So many of them, from the first to the last, in any order: the time may not be enough for
    all."""
    number = min(number, len(places))
    found = [places[place * len(places) // number] for place in range(number)]
    return chance.sample(found, number)


@contextmanager
def firmware_guest(hypervisor: Hypervisor, *, on: bool) -> Iterator[Guest]:
    """A guest that stays in its firmware: quick to start, and deaf."""
    name = f"{hypervisor.prefix}firmware-{'on' if on else 'off'}"
    nics = (Nic("e1000", mac=MAC, extra=QUIET_ROM),)
    with Guest(hypervisor, Definition(name, hypervisor.bridge, nics, memory_mib=32)) as guest:
        if on:
            guest.start()
        yield guest


@contextmanager
def real_guest(hypervisor: Hypervisor) -> Iterator[Guest]:
    """A guest that has booted and answers DNS."""
    with GuestFactory(hypervisor, "x86_64", "pc")(Nic("e1000", mac=MAC), once=True) as guest:
        guest.wait_for_dns()
        yield guest


def _off(hypervisor: Hypervisor, folder: Path, budget: Budget, seed: int) -> None:
    with firmware_guest(hypervisor, on=False) as guest:
        _walk(Walk(guest, folder, "next-boot", seed=seed), budget, seed)


def _firmware(hypervisor: Hypervisor, folder: Path, budget: Budget, seed: int) -> None:
    words = ("--force-off", "VNICAUDIT_GUEST_DEADLINE=1")
    with firmware_guest(hypervisor, on=True) as guest:
        # nothing in a firmware proves that it is back
        _walk(Walk(guest, folder, "restart", *words, code=5, seed=seed), budget, seed)


def _real(mode: str, hypervisor: Hypervisor, folder: Path, budget: Budget, seed: int) -> None:
    with real_guest(hypervisor) as guest:
        words = (f"VNICAUDIT_GUEST_DEADLINE={round(max(90, 4 * guest.booted_in))}",)
        walk = Walk(guest, folder, mode, *words, well=Guest.wait_for_dns, seed=seed)
        steps = journal_steps(walk.there), journal_steps(walk.back)
        if budget.kills <= len(steps[0]) + len(steps[1]):
            walk.there, walk.back = steps
        _walk(walk, budget, seed)


def _walk(walk: Walk, budget: Budget, seed: int) -> None:
    """Places in turn, as many as there are; random times for the rest."""
    chance, kills = random.Random(seed), budget.kills
    share = kills * len(walk.there) // (len(walk.there) + len(walk.back))
    there, back = spread(walk.there, share, chance), spread(walk.back, kills - share, chance)
    every_place(walk, budget, there=there, back=back)
    if _TALLY.total() < kills and not budget.is_spent():
        random_times(walk, budget, seed)


WALKS: dict[str, tuple[float, Callable[[Hypervisor, Path, Budget, int], None]]] = {
    "off": (0.64, _off),
    "firmware": (0.16, _firmware),
    "hotswap": (0.12, partial(_real, "hotswap")),
    "restart": (0.08, partial(_real, "restart")),
}
"""Name -> its share of all kills."""


def loop(kills: int, seed: int, seconds: float | None = None) -> int:
    """That many kills, or as many as the time is enough for, all walks side by side, in a process
    each; how many there were. Raises AssertionError where something was lost."""
    log(f"{kills} kills, seed {seed}")
    started = [
        (name, _started(name, round(kills * share), seed, seconds))
        for name, (share, _walk) in WALKS.items()
    ]
    total, lost = 0, []
    for name, process in started:
        said, complaint = process.communicate()
        log(f"{name}: {said.strip() or 'failed'}")
        if process.returncode:
            lost.append(f"{name}:\n{complaint}")
        else:
            total += int(said.split()[0])
    assert not lost, "\n\n".join(lost)
    return total


def _started(name: str, kills: int, seed: int, seconds: float | None) -> subprocess.Popen[str]:
    words = ["--walk", name, "--kills", str(kills), "--seed", str(seed)]
    if seconds is not None:
        words += ["--seconds", str(seconds)]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.rig.faults", *words],
        cwd=Path(__file__).parents[2], stdout=PIPE, stderr=PIPE, text=True,
    )  # fmt: skip


def main() -> None:
    """As many kills as asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--walk", choices=WALKS, help="this one alone")
    parser.add_argument("--seconds", type=float, help="begin no kill after this time")
    given = parser.parse_args()
    began = time.monotonic()
    if given.walk is None:
        total = loop(given.kills, given.seed, given.seconds)
        print(f"{total} kills, nothing lost, in {time.monotonic() - began:.0f} s")
        return
    with running_hypervisor() as hypervisor, tempfile.TemporaryDirectory() as folder:
        budget = Budget(given.kills, given.seconds)
        WALKS[given.walk][1](hypervisor, Path(folder), budget, given.seed)
    broken = sum(number for kinds, number in _STREAMS.items() if kinds != ("open", "open"))
    took = f"{time.monotonic() - began:.0f} s"
    print(f"{_TALLY.total()} kills, {broken} commands with broken streams, in {took}")


if __name__ == "__main__":
    main()
