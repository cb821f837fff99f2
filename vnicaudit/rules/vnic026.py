"""Zero-copy transmit of vhost-net is switched on.

## What is wrong

The module parameter ``vhost_net.experimental_zcopytx`` is on. It is off by default.

## Why it matters

It saves at most 15 % of CPU time on large transmits (Red Hat), and it switches off a mitigation
against denial of service and information leaks.

## Bad

```sh
cat /sys/module/vhost_net/parameters/experimental_zcopytx   # 1
```

## Good

```sh
cat /sys/module/vhost_net/parameters/experimental_zcopytx   # 0
```

## Fix

Remove ``options vhost_net experimental_zcopytx=1`` from ``/etc/modprobe.d`` or from the kernel
command line, and reload the module: the parameter is read-only while the module is loaded.

## Fix safety

The module can be unloaded only while no guest uses it.

## When it does not fire

When the parameter is off. Skipped when the module is not loaded, and for any other host than this
one.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.model.rule import HostSubject, Judge, Problem, Rule


def applies(subject: HostSubject) -> bool:
    """A host that may have vhost-net."""
    return subject.host.vhost_net is not False


def check(subject: HostSubject) -> Iterator[Problem]:
    """One problem per host that has it on."""
    if subject.host.zerocopy_tx:
        yield Problem(
            "vhost_net.experimental_zcopytx is on: a mitigation against denial of service and "
            "information leaks is off",
            fix="Remove experimental_zcopytx=1 from /etc/modprobe.d (or the kernel's command line) "
            "and reload vhost_net while no guest uses it.",
        )


RULE = Rule(
    name="vhost-zerocopy",
    severity="info",
    groups=("vhost", "host"),
    judges=(Judge("host", needs=(facts.HOST_ZEROCOPY_TX,), applies=applies, check=check),),
)
