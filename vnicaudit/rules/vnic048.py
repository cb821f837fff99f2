"""The guest's MTU is larger than its path on the host can carry.

## What is wrong

The NIC sets an MTU (`<mtu size=…>` in libvirt, `host_mtu=` on QEMU's command line), and the guest's
virtio driver uses it for its interface. But its tap, or a link by which its frames leave the host,
has a smaller MTU.

## Why it matters

A Linux bridge silently drops a frame that is larger than the MTU of its outgoing port:
`br_dev_queue_push_xmit` (net/bridge/br_forward.c) asks `is_skb_forwardable`
(include/linux/netdevice.h), which makes an exception only for segmentation offload. Short packets
pass, so ping and logins work. Large packets do not, so file copies, storage traffic or TLS
certificates hang.

## Bad

The MTU is 9000 on the tap, and 1500 on the uplink of its bridge:

```xml path.tap=9000 path.uplink=1500
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
  <mtu size='9000'/>
</interface>
```

## Good

It is 9000 on both:

```xml path.tap=9000 path.uplink=9000
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
  <mtu size='9000'/>
</interface>
```

## Fix

Raise the MTU of the uplink and of what it is plugged into, or set the guest's MTU to what the path
carries. In libvirt the change takes effect when the guest is next powered off and on.

## Fix safety

For a link of a visited host a change of its MTU is proposed, which is unsafe: the whole network
must carry frames of that size, and some adapters reset their link. For the guest's own none is.

## When it does not fire

* When no MTU is set for the NIC: the guest's MTU is unknown.
* When the path's MTU is larger than the guest's, for example to leave room for a tunnel (VNIC101).
* For a bridge's own MTU, which is that of the host's packets. On vhost-user and vDPA.
* On Open vSwitch, for an uplink beside a wider one, or beside tunnels: flows choose among them.
* For guests of this machine (`qemu:///system`) the tap and the uplinks of its Linux bridge are
  judged. Where the host itself is visited (`ssh://…`, or from a sosreport) every link is, with
  bonds, VLANs, macvtap and Open vSwitch. Other hosts' interfaces cannot be seen.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.rule import Judge, LinkSubject, Problem, Rule, Subject


def applies(subject: Subject) -> bool:
    """A NIC with an MTU whose path is known."""
    return subject.path is not None and _guests(subject) is not None


def check(subject: Subject) -> Iterator[Problem]:
    """One problem, naming the narrowest link."""
    mtu, path = _guests(subject), subject.path
    if mtu is None or path is None:
        return
    narrow = [
        (size, name)
        for size, name in ((path.tap, "its tap"), (path.uplink, "an uplink of its bridge"))
        if size is not None and size < mtu
    ]
    if narrow:
        size, name = min(narrow)
        yield Problem(
            f"the guest uses an MTU of {mtu}, and {name} has {size}: larger frames are dropped",
            field="mtu",
            fix=f"Raise the MTU of the path to {mtu}, or set the guest's to {size}.",
        )


def _guests(subject: Subject) -> int | None:
    """The MTU that the guest gets: from QEMU if that is seen, else as declared."""
    running = subject.running
    if running is not None and running.mtu is not None:
        return running.mtu
    return subject.nic.mtu or None


def applies_link(subject: LinkSubject) -> bool:
    """A link of a visited host that carries guests."""
    return bool(subject.carries)


def check_link(subject: LinkSubject) -> Iterator[Problem]:
    """One problem, naming all guests whose frames are too large for it."""
    # loaded where a host was visited: the rule's other judge is asked for every definition
    from vnicaudit.knowledge.host_mtu import too_narrow_for
    from vnicaudit.knowledge.host_needs import guests_named
    from vnicaudit.knowledge.host_setting_values import change_of_mtu

    link = subject.link
    found = too_narrow_for(subject.facts, link, subject.guests())
    if found:
        wanted = max(found.values())
        change = change_of_mtu(subject.facts, link.name, wanted)
        yield Problem(
            f"{link.name} has an MTU of {link.mtu}, and carries {guests_named(list(found))} with "
            f"{wanted}: larger frames are dropped",
            change=change,
            fix=f"(if the network carries such frames; else set the guest's to {link.mtu})"
            if change
            else f"Set the guest's to {link.mtu}.",
        )


RULE = Rule(
    name="mtu-mismatch",
    severity="medium",
    groups=("mtu",),
    judges=(
        Judge("nic", applies=applies, check=check),
        Judge("link", applies=applies_link, check=check_link),
    ),
)
