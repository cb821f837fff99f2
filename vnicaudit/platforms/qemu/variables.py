"""Parts of a pasted command line that a shell or a template still has to fill in.

Nothing is expanded, so a variable in place of a fact of a NIC makes the fact unknown. A variable in
a name, an address or a port does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from vnicaudit.platforms.qemu.arguments import Arguments
from vnicaudit.platforms.qemu.options import lenient
from vnicaudit.text.placeholders import is_only_placeholder, opened, placeholder_text

_VARIABLE = re.compile(
    r"\$[A-Za-z_]\w*|\$[@*\d]|\$\{[^}]*\}?|\$\(.*|`[^`]*`?|%[A-Za-z](?![A-Za-z])", re.DOTALL
)
"""Variables of a shell, and the specifiers of a systemd unit (``%i``)."""

_FREE = frozenset({
    "id", "name", "mac", "macaddr", "ifname", "script", "downscript", "br", "helper", "netdev",
    "chardev", "path", "host", "port", "hostfwd", "guestfwd", "net", "ipv6-net", "dhcpstart",
    "dns", "hostname", "domainname", "bootfile", "tftp", "smb", "localaddr", "connect", "listen",
    "mcast", "sock", "local", "remote", "fd", "vhostfd", "vhostdev", "bus", "addr", "romfile",
    "bootindex", "group", "failover_pair_id", "acpi-index",
})  # fmt: skip
"""Keys of NICs and their backends whose values are only names or places."""
_KINDS = {"netdev": "type", "nic": "type", "net": "type", "device": "driver"}
"""Options that define NICs -> the key that their first word may omit."""
_OF_NICS = frozenset({"netdev", "mq", "mac", "rx_queue_size", "tx_queue_size", "host_mtu"})


def unfilled(text: str) -> str | None:
    """The variable or placeholder in a text; None if the text is literal."""
    match = _VARIABLE.search(text)
    if match is not None:
        return match.group()
    return text if is_only_placeholder(text) or opened(text) else None


def left_open(arguments: Arguments) -> str | None:
    """The reason why the facts of NICs are unknown: the variable or placeholder in them; None if
    there is none."""
    found = next((name for value in _decisive(arguments) if (name := unfilled(value))), None)
    if found is None:
        return None
    if _VARIABLE.match(found):
        return f"it has variables ({placeholder_text(found)}), which only the shell knows"
    return f"it is a template ({placeholder_text(found)}), to be filled in first"


def _decisive(arguments: Arguments) -> Iterator[str]:
    """Values that determine a NIC, and names of options that a variable makes."""
    for name, value in arguments.pairs:
        first = _KINDS.get(name)
        if first is not None:
            given = lenient(value, first)
            if name != "device" or _is_nic(given):
                yield from (key for key in given)
                yield from (text for key, text in given.items() if key not in _FREE)
        elif name in ("machine", "M"):
            yield lenient(value, "type").get("type", "")
        elif name in ("global", "set") and "net" in (value or "").lower():
            yield value or ""


def _is_nic(given: dict[str, str]) -> bool:
    driver = given.get("driver", "")
    return not _OF_NICS.isdisjoint(given) or "net" in driver
