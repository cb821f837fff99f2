"""A RoCE adapter of IBM Z receives without striding queues.

## What is wrong

The private flag `rx_striding_rq` is off on a Mellanox adapter of an IBM Z host that carries guests.

## Why it matters

With striding receive queues one buffer takes many packets, so that the adapter needs fewer of them.
IBM switched the flag on for its measurements of RoCE Express adapters under Linux on Z, where it is
off by default (N. Hoppmann, *Exploring the performance of network adapters for Linux on IBM Z*).

## Bad

```console
$ ethtool --show-priv-flags ens9 | grep striding
rx_striding_rq     : off
```

## Good

```console
$ ethtool --show-priv-flags ens9 | grep striding
rx_striding_rq     : on
```

## Fix

Switch the flag on with `ethtool --set-priv-flags`, and again after each boot.

## Fix safety

The adapter opens its queues again: the link is interrupted for a moment.

## When it does not fire

* On other machines than IBM Z, with other drivers, and on links that carry no guest.
* When the adapter does not have the flag. Skipped where private flags are not known.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.host_setting_values import change_of
from vnicaudit.knowledge.host_settings import HostSetting
from vnicaudit.knowledge.qeth import is_roce
from vnicaudit.model.rule import Judge, LinkSubject, Problem, Rule

_FLAG = "rx_striding_rq"
_RESET = "the adapter interrupts its link for a moment"
_FLAGS = host_needs.link_fact(
    lambda link: link.private_flags is not None,
    "the adapter's private flags (ethtool --show-priv-flags on the host)",
)


def applies(subject: LinkSubject) -> bool:
    """A RoCE adapter that carries guests."""
    return bool(subject.carries) and is_roce(subject.facts, subject.link)


def check(subject: LinkSubject) -> Iterator[Problem]:
    """One problem if the flag is off."""
    link = subject.link
    setting = HostSetting("private-flag", link.name, _FLAG)
    if (link.private_flags or {}).get(_FLAG) is False:
        yield Problem(
            f"{_FLAG} is off on {link.name}, which carries "
            f"{host_needs.guests_named(subject.carries)}",
            change=change_of(subject.facts, setting, "on", _RESET, safe=False),
        )


RULE = Rule(
    name="roce-striding-rq-off",
    severity="low",
    groups=("host", "offloads", "z"),
    judges=(Judge("link", needs=(_FLAGS,), applies=applies, check=check),),
)
