"""A server with a vhost-user port but without shared memory.

## What is wrong

Neutron binds a port of the server as vhost-user (Open vSwitch with DPDK), but nothing makes the
guest's memory shared: its flavor requests no huge pages, and its compute node has no
`file_backed_memory`. The switch needs to read packets from the guest's memory, and cannot.

## Why it matters

No packet passes; libvirt 11.2 and later do not start such a domain (NEWS: "Use common check for
shared memory use"). Before that, the server is built without an error and looks healthy.

Nova marks memory as shared (`memAccess='shared'`) in two cases: if the pages it chose are larger
than the host's smallest (`_wants_hugepages` and `_get_cpu_numa_config_from_instance` in
nova/virt/libvirt/driver.py), or if `[libvirt] file_backed_memory` is set
(`_get_guest_memory_backing_config`).

`hw:mem_page_size = small` means the host's smallest pages: not shared. `any` takes the largest
pages that are free, and small ones if there are none (`_numa_cell_supports_pagesize_request` in
nova/virt/hardware.py). An image can only narrow down a flavor's `any` or `large`; on its own its
request is refused.

## Bad

```console
$ openstack flavor create --vcpus 4 --ram 8192 nfv
$ openstack port show -c binding_vif_type p1
| binding_vif_type | vhostuser |
```

## Good

```console
$ openstack flavor create --vcpus 4 --ram 8192 --property hw:mem_page_size=large nfv
```

## Fix

Resize the server to a flavor with `hw:mem_page_size` (`large`, or a size such as `1GB`) on compute
nodes with enough huge pages. Or set `[libvirt] file_backed_memory` in nova.conf of the compute
nodes.

## Fix safety

No change is proposed: huge pages reserve memory on the hosts, and a node cannot have both
`file_backed_memory` and huge pages.

## When it does not fire

* When the cloud does not show how ports are bound, as to a tenant.
* On page sizes from 5 to 64 KiB: whether they are the host's smallest depends on its architecture.
* Skipped when the flavor's extra specs, or nova.conf of the compute node, are not visible.
* On the domain XML of such a server: see VNIC041.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.model.nova import as_number
from vnicaudit.model.openstack import ServerConfig
from vnicaudit.model.rule import DomainSubject, Problem, Rule

_ASKED = "hw:mem_page_size"
_NARROWED = "hw_mem_page_size"
_KIB = {"K": 1, "M": 1 << 10, "G": 1 << 20, "T": 1 << 30}
_DIGITS = 9
"""Maximum number of digits of a size."""
_SMALLEST, _LARGEST_SMALL = 4, 64
"""KiB: the smallest page size, and the largest that is some host's smallest (POWER, ARM)."""

_FIX = (
    "Resize the server to a flavor with hw:mem_page_size (large, or a size such as 1GB), or set "
    "[libvirt] file_backed_memory in nova.conf of the compute nodes."
)


def applies(subject: DomainSubject, server: ServerConfig) -> bool:
    """A server with a vhost-user port, and possibly small pages."""
    if not subject.domain.is_server or not any(nic.backend == "vhostuser" for nic in subject.nics):
        return False
    node = server.node
    backed = 0 if node is None else as_number(node.value("file_backed_memory") or "") or 0
    return _pages(server) in ("", "small", "any") and backed <= 0


def check(subject: DomainSubject, server: ServerConfig) -> Iterator[Problem]:
    """One problem for the server, naming its vhost-user NICs."""
    places = [str(index) for index, nic in enumerate(subject.nics) if nic.backend == "vhostuser"]
    named = f"NIC {', '.join(places)} is" if len(places) == 1 else f"NICs {', '.join(places)} are"
    pages = _pages(server)
    if pages == "any":
        yield Problem(
            f"{named} vhost-user, and {_ASKED} = any: if no huge pages are free, Nova takes small "
            "ones, which are not shared, and no packet passes",
            severity="low",
            fix=_FIX,
        )
        return
    asks = "its flavor" if _of_flavor(server) == "small" else "its image"
    why = f"its flavor has no {_ASKED}" if not pages else f"{asks} asks for small pages"
    yield Problem(
        f"{named} vhost-user without shared guest memory ({why}): no packet passes, and libvirt "
        "11.2 and later do not start it",
        fix=_FIX,
    )


def _pages(server: ServerConfig) -> str:
    """``large``, ``small``, ``any``, ``unknown`` (a size that may be either), or ``""``: no page
    size is requested, or the extra specs are not visible."""
    found = _of_flavor(server)
    narrowed = server.property(_NARROWED)
    return _kind(narrowed) if narrowed and found in ("any", "large") else found


def _of_flavor(server: ServerConfig) -> str:
    return _kind("" if server.flavor is None else server.flavor.certain_value(_ASKED) or "")


def _kind(text: str) -> str:
    """The kind of pages that a size requests; a number is in KiB
    (``_get_numa_pagesize_constraint``)."""
    if text in ("", "small", "large", "any"):
        return text
    kib = _kib(text)
    if kib is None:
        return "unknown"
    if kib <= _SMALLEST:
        return "small"
    return "large" if kib > _LARGEST_SMALL else "unknown"


def _kib(text: str) -> int | None:
    """A size in KiB: ``2048``, ``2MB``, ``1GiB``; None if it is not a size."""
    number, times = text, 1
    if text.endswith("B"):
        number = text.removesuffix("B").removesuffix("i")
        unit = _KIB.get(number[-1:])
        if unit is None:
            return None
        number, times = number[:-1], unit
    plain = number.isascii() and number.isdigit() and len(number) <= _DIGITS
    return int(number) * times if plain else None


RULE = Rule(
    name="server-memory-not-shared",
    severity="error",
    groups=("servers", "backends", "refused"),
    forms=("definition", "server"),
    judges=(
        facts.of_server(
            "domain", check, applies=applies, needs=(facts.SERVER_FLAVOR, facts.SERVER_NODE)
        ),
    ),
)
