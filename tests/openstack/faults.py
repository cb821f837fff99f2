"""Servers of a real cloud are changed and taken back while something goes wrong each time.

    python -m tests.openstack.faults [--faults 50] [--seed 1] [--share]

The product is killed, or what it works with fails: nova-manage, nova-compute, Nova's API, the
network. The next command is what the product says it is; every server that ran before runs then,
and has the property that the product says it has.
"""

import argparse
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.openstack.fleet import AT_CALLS, Fleet, fleet_of
from tests.openstack.places import Fault
from tests.openstack.proxy import TROUBLES, Trouble
from tests.openstack.running import running_cloud
from tests.rig.process import log, wait_for

_SECONDS = 1200
_WRONG = ("fails", "dies", "loses", "late")
"""What testbed/nova-manage.sh does wrong."""

Injection = Callable[[Fleet, str, random.Random], "bool | None"]
"""Puts something in the way of a command, and waits for the end of that: whether the product was
killed; None: the fault did not happen."""


def _place(fleet: Fleet, way: str, chance: random.Random, calls: tuple[str, ...] = ()) -> Fault:
    """One of the places there are; of ``calls`` alone where they are given."""
    seen: Counter[str] = Counter()
    found = []
    for one in fleet.places[way]:
        seen[one.place] += 1
        if not calls or (one.place in AT_CALLS and one.what in calls):
            found.append(Fault(one.place, seen[one.place]))
    return chance.choice(found)


def killed_at_a_place(fleet: Fleet, way: str, chance: random.Random) -> bool | None:
    """Before, within and behind a line of the journal, a file, a call."""
    did = fleet.begin(way, _place(fleet, way, chance)).wait()
    assert not did.hit or did.code == -9, did
    return did.hit or None


def killed_at_a_call(fleet: Fleet, way: str, chance: random.Random) -> bool | None:
    """Before it or behind it."""
    fault = _place(fleet, way, chance, ("stop", "set", "start"))
    did = fleet.begin(way, fault).wait()
    return did.hit or None


def killed_any_time(fleet: Fleet, way: str, chance: random.Random) -> bool | None:
    """Whatever it is about."""
    doing = fleet.begin(way)
    end = time.monotonic() + chance.uniform(1, fleet.seconds)
    while time.monotonic() < end and not doing.ended():
        time.sleep(0.05)
    doing.kill()
    return doing.wait().code == -9 or None


def killed_and_outlived(fleet: Fleet, way: str, chance: random.Random) -> bool | None:
    """It is killed, and nova-manage goes on."""
    return _killed_over(fleet, way, chance.choice(("slow", "late")))


def nova_manage_hangs(fleet: Fleet, way: str, _chance: random.Random) -> bool | None:
    """Whoever runs it loses patience."""
    return _killed_over(fleet, way, "hangs")


def _killed_over(fleet: Fleet, way: str, manage: str) -> bool | None:
    fleet.token.touch()
    used = fleet.token.with_suffix(".used")
    used.unlink(missing_ok=True)
    doing = fleet.begin(way, manage=manage)
    wait_for(lambda: used.exists() or doing.ended(), "nova-manage is at work", seconds=_SECONDS)
    doing.kill()
    return doing.wait().code == -9 or None


def nova_manage_goes_wrong(fleet: Fleet, way: str, chance: random.Random) -> bool | None:
    """It fails, dies, loses its answer, or comes late."""
    fleet.token.touch()
    fleet.begin(way, manage=chance.choice(_WRONG)).wait()
    return None if fleet.token.exists() else False


def nova_compute_is_stopped(fleet: Fleet, way: str, chance: random.Random) -> bool | None:
    """For some seconds, about when it is to stop or to start a server."""
    machine = fleet.cloud.machine
    process = int(machine.process("nova-compute"))
    fault = _place(fleet, way, chance, ("stop", "start"))
    doing = fleet.begin(way, Fault(fault.place, fault.number, process, signal.SIGSTOP))
    wait_for(doing.hit, "nova-compute is stopped", seconds=_SECONDS)
    time.sleep(chance.uniform(1, 12))
    machine.output("kill", "-CONT", str(process))
    return False if doing.wait().hit else None


def nova_compute_dies(fleet: Fleet, way: str, chance: random.Random) -> bool | None:
    """About when it is to stop or to start a server; it is started again."""
    return _service_dies(fleet, way, chance, "nova-compute", fleet.cloud.start_compute)


def nova_api_dies(fleet: Fleet, way: str, chance: random.Random) -> bool | None:
    """With all its workers; it is started again."""
    return _service_dies(fleet, way, chance, "nova", fleet.cloud.start_api)


def _service_dies(
    fleet: Fleet, way: str, chance: random.Random, name: str, start: Callable[[], None]
) -> bool | None:
    process = int(fleet.cloud.machine.process(name))
    fault = _place(fleet, way, chance, ("stop", "set", "start"))
    doing = fleet.begin(way, Fault(fault.place, fault.number, -process))
    wait_for(doing.hit, f"{name} is killed", seconds=_SECONDS)
    if not any(one.fault for one in doing.passed()):
        doing.wait()
        return None
    time.sleep(chance.uniform(0, 6))
    start()
    doing.wait()
    return False


def connection_is_cut(fleet: Fleet, way: str, chance: random.Random) -> bool | None:
    """A request or its answer is lost, of an order more often than of a question."""
    orders = ("POST", 2 * fleet.size)
    method, most = chance.choice((orders, orders, ("GET", 10)))
    trouble: Trouble = chance.choice(TROUBLES)
    fleet.proxy.arm(trouble, method, chance.randint(1, most))
    fleet.begin(way).wait()
    happened = fleet.proxy.happened
    fleet.proxy.arm(None)
    return False if happened else None


MIX: tuple[Injection, ...] = (
    killed_at_a_place, killed_at_a_call, connection_is_cut, killed_any_time, nova_manage_goes_wrong,
    killed_at_a_place, nova_compute_is_stopped, killed_and_outlived, connection_is_cut,
    killed_at_a_call, nova_compute_dies, killed_at_a_place, nova_manage_goes_wrong, nova_api_dies,
    killed_any_time, killed_at_a_call, nova_manage_hangs,
)  # fmt: skip

SHARE: tuple[Injection, ...] = (
    killed_at_a_call, connection_is_cut, killed_and_outlived, nova_compute_dies,
)  # fmt: skip
"""What CI injects."""
LEAST = 2
"""Faults, however long they take."""


def share(chance: random.Random) -> Sequence[Injection]:
    """What CI injects, in any order: the time may not be enough for all."""
    return chance.sample(SHARE, len(SHARE))


def loop(
    fleet: Fleet,
    faults: int,
    chance: random.Random,
    mix: Sequence[Injection] = MIX,
    seconds: float | None = None,
) -> None:
    """Inject that many faults, there and back in turn; none is begun after so many seconds, but for
    the first ones."""
    way, turn = "there", 0
    end = time.monotonic() + (float("inf") if seconds is None else seconds)
    while fleet.tally.total() < faults:
        if time.monotonic() > end and fleet.tally.total() >= LEAST:
            break
        inject = mix[turn % len(mix)]
        turn += 1
        began = time.monotonic()
        killed = inject(fleet, way, chance)
        if killed is not None:
            fleet.tally[inject.__name__] += 1
        fleet.settle(way, undo=chance.random() < 0.4, killed=bool(killed))
        took = time.monotonic() - began
        happened = "" if killed is not None else " (did not happen)"
        log(f"{fleet.tally.total()}: {inject.__name__}{happened}, {way}, {took:.0f} s")
        if way == "there" and fleet.is_there():
            way = "back"
            continue
        fleet.home()
        way = "there"
    fleet.home()


def main() -> None:
    """As many faults as asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=50)
    parser.add_argument("--servers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--share", action="store_true", help="the kinds that CI injects")
    given = parser.parse_args()
    log(f"{given.faults} faults, seed {given.seed}")
    began = time.monotonic()
    with (
        running_cloud() as cloud,
        tempfile.TemporaryDirectory() as folder,
        fleet_of(cloud, given.servers, Path(folder)) as fleet,
    ):
        fleet.walk()
        log(f"a way takes {fleet.seconds:.0f} s; {len(fleet.places['there'])} places there")
        chance = random.Random(given.seed)
        loop(fleet, given.faults, chance, share(chance) if given.share else MIX)
    for name, count in fleet.tally.most_common():
        print(f"{count:4} {name}")
    total = fleet.tally.total()
    print(f"{total} faults, every server runs, in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
