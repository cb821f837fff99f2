"""Workload in, uperf's profile out: our own text of the patterns that IBM names.

The master, which carries out what is written here, is the peer; the slave is the target. A process
for each connection, as IBM's profiles have it.
"""

from __future__ import annotations

from math import ceil
from xml.sax.saxutils import quoteattr

from vnicaudit.bench.engines._patterns import Pattern
from vnicaudit.model.measurement import Workload

_BEYOND = 3
"""Seconds that are run beyond those that count: uperf ends by the whole second, up to one early
(shm.c, CALLOUT_GRANURALITY), and prints once a second."""


def duration(workload: Workload) -> int:
    """Seconds that uperf is asked to run."""
    return ceil(workload.warmup + workload.seconds) + _BEYOND


def profile(workload: Workload, pattern: Pattern, address: str) -> str:
    """The profile: connect, load, disconnect; uperf calls them Txn1, Txn2, Txn3."""
    connect = quoteattr(f"remotehost={address} protocol=tcp tcp_nodelay")
    return (
        '<?xml version="1.0"?>\n'
        f"<profile name={quoteattr(workload.pattern)}>\n"
        f'  <group nprocs="{workload.connections}">\n'
        '    <transaction iterations="1">\n'
        f'      <flowop type="connect" options={connect}/>\n'
        "    </transaction>\n"
        f'    <transaction duration="{duration(workload)}s">\n'
        f"{_load(pattern)}"
        "    </transaction>\n"
        '    <transaction iterations="1">\n'
        '      <flowop type="disconnect"/>\n'
        "    </transaction>\n"
        "  </group>\n"
        "</profile>\n"
    )


def _load(pattern: Pattern) -> str:
    steps = {
        "rr": (("write", pattern.size), ("read", pattern.answer)),
        "read": (("read", pattern.size),),
        "write": (("write", pattern.size),),
    }[pattern.mode]
    return "".join(f'      <flowop type="{step}" options="size={size}"/>\n' for step, size in steps)
