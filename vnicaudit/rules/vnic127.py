"""Frames on Linux bridges pass the host's packet filter, and nothing seems to need it.

## What is wrong

`bridge-nf-call-iptables` is 1 on a host with guests on a Linux bridge, and neither a rule nor a
program that needs it was found.

## Why it matters

Each frame between guests and the network then passes the rules of iptables and connection tracking
as if it were routed (Documentation/networking/ip-sysctl.rst and net/bridge/br_netfilter_hooks.c of
Linux). That costs CPU time for every packet, and a table of connections that is full drops traffic
of guests (`nf_conntrack: table full`). Where the kernel's log of the last seven days has that
message, the finding says so; the packets may have been the host's own.

## Bad

```console
$ sysctl net.bridge.bridge-nf-call-iptables
net.bridge.bridge-nf-call-iptables = 1
```

## Good

```console
$ sysctl net.bridge.bridge-nf-call-iptables
net.bridge.bridge-nf-call-iptables = 0
```

## Fix

Set it to 0, in `/etc/sysctl.d` for the next boot, and unload `br_netfilter` if nothing else uses
it.

## Fix safety

It switches a filter off. Look for rules that should see bridged frames before: `iptables -S`,
`nft list ruleset`, and what writes them.

## When it does not fire

* With Nova's hybrid plug (bridges `qbr…`), Docker, kube-proxy, and rules that match `physdev`.
* When `br_netfilter` is not loaded, and on hosts whose guests are not on a Linux bridge.
* It is a question, as rules for forwarded packets may be meant for bridged ones as well.
* Skipped where rules and programs of the host are not known.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.host_setting_values import change_of
from vnicaudit.knowledge.host_settings import HostSetting
from vnicaudit.model.rule import Problem, Rule, VisitedHost

_NAME = "net.bridge.bridge-nf-call-iptables"
_DROPPED = ", and the kernel dropped packets as its table of connections was full"
_UNSEEN = "a rule that is added later, or was not seen, may need it"
_RULES = host_needs.host_fact(
    lambda facts: facts.bridge_rules is not None,
    "rules and programs that filter bridged frames (iptables-save as root, list of processes)",
)


def applies(subject: VisitedHost) -> bool:
    """A host with guests on a Linux bridge whose frames are filtered."""
    facts = subject.facts
    return facts.sysctl(_NAME) == 1 and bool(_bridged(subject))


def check(subject: VisitedHost) -> Iterator[Problem]:
    """One problem if nothing needs it."""
    facts = subject.facts
    if facts.bridge_rules is False:
        guests = host_needs.guests_named(_bridged(subject))
        is_full = facts.log is not None and facts.log.conntrack_full
        yield Problem(
            f"bridged frames of {guests} pass iptables ({_NAME} is 1){_DROPPED * is_full}: does a "
            "rule need them?",
            field=_NAME,
            change=change_of(facts, HostSetting("sysctl", "", _NAME), "0", _UNSEEN, safe=False),
            fix="(if none does)",
        )


def _bridged(subject: VisitedHost) -> list[str]:
    """Guests with a tap in a Linux bridge."""
    links = subject.facts.links or ()
    bridges = {link.name for link in links if link.kind == "bridge"}
    taps = {link.name for link in links if link.master in bridges}
    return [
        guest.name for guest in subject.guests if taps & {nic.device for nic in guest.nics}
    ]  # fmt: skip


RULE = Rule(
    name="bridge-nf",
    severity="info",
    groups=("host",),
    judges=(host_needs.visited_host(check, needs=(_RULES,), applies=applies),),
)
