"""A guest's view of a change of one of its NICs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from msgspec.structs import replace

from vnicaudit.base.wording import MAC
from vnicaudit.knowledge.systems import (
    KERNEL_NAME,
    LINUX,
    MODERN,
    TRANSITIONAL,
    VIRTIO_DRIVERS,
    WINDOWS,
    System,
    is_virtio,
    pci_id,
    pci_slot,
    port_unknown,
    slot_of,
    system_of,
)
from vnicaudit.model.domain import Domain
from vnicaudit.model.nic import Nic
from vnicaudit.model.plan import GuestView, Naming, Snippet
from vnicaudit.remedy.planning.policy import called_otherwise, naming, only_nic, same_device

# Snippets of a guest's configuration that keep an interface's name or address by its MAC.
#
# A MAC and a name come from outside: if either is not clearly valid, there is no snippet.


_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,14}", re.ASCII)

_CHECK = "# {name} is predicted: compare with `ip -br link` in the guest first\n"
_RACE = (
    "# the kernel may give {name} to another NIC first: safe where this is the only one, else use\n"
    "# a name of your own, as lan0\n"
)
_RED_HAT = ("centos", "eurolinux", "ol", "rhel", "rhel-atomic", "scientificlinux")
_SUSE = ("opensuse", "sle", "sled", "slem", "sles")
_LINKS_SINCE = {
    "debian": (9, 0),
    "ubuntu": (15, 10),
    **dict.fromkeys(_RED_HAT, (8, 0)),
    **dict.fromkeys(_SUSE, (15, 0)),
    **dict.fromkeys(("almalinux", "archlinux", "centos-stream", "fedora", "rocky"), (0, 0)),
}
"""Distribution -> the first version in which systemd.link decides the names; before, udev."""


def snippets(
    system: System, mac: str | None, name: str | None, *, predicted: bool
) -> tuple[Snippet, ...]:
    """Snippets for the guest's system; all Linux snippets if the distribution is unknown. ``name``
    is the name to keep; ``predicted``: it was not read from the guest."""
    if mac is None or MAC.fullmatch(mac) is None:
        return ()
    if system.family == WINDOWS:
        return tuple(_windows(system, mac))
    if system.family != LINUX or name is None or _NAME.fullmatch(name) is None:
        return ()
    head = _CHECK.format(name=name) if predicted else ""
    return tuple(make(mac, name, head) for make in _fitting(system))


_Make = Callable[[str, str, str], Snippet]


def _fitting(system: System) -> tuple[_Make, ...]:
    """The snippets that the guest's distribution supports."""
    if system.distribution == "alpinelinux":
        return ()
    since = _LINKS_SINCE.get(system.distribution or "")
    if system.version is None or since is None:
        return (_systemd_link, _udev)
    return (_systemd_link,) if system.version >= since else (_udev,)


def _systemd_link(mac: str, name: str, head: str) -> Snippet:
    """systemd.link(5): ``MACAddress=`` and nothing else, as in its example 10-dmz.link; a VLAN with
    the same MAC keeps its own name (measured with systemd 257). It warns about names that the
    kernel assigns. The file must be in the initramfs too, where NICs get their names."""
    text = (
        f"{head}{_race(name)}"
        "# then renew the initramfs: update-initramfs -u, dracut -f or mkinitcpio -P\n"
        f"[Match]\nMACAddress={mac}\n\n[Link]\nName={name}\n"
    )
    return Snippet("systemd-link", f"/etc/systemd/network/10-vnicaudit-{name}.link", text)


def _udev(mac: str, name: str, head: str) -> Snippet:
    """Red Hat solution 1301563, option 1; the file that udev's own generator wrote, where it had
    one."""
    rule = (
        f'SUBSYSTEM=="net", ACTION=="add", ATTR{{address}}=="{mac}", ATTR{{type}}=="1", '
        f'NAME="{name}"\n'
    )
    text = f"{head}{_race(name)}# instead of a line there is for this MAC\n{rule}"
    return Snippet("udev", "/etc/udev/rules.d/70-persistent-net.rules", text)


def _race(name: str) -> str:
    return _RACE.format(name=name) if KERNEL_NAME.fullmatch(name) else ""


def _windows(system: System, mac: str) -> Iterator[Snippet]:
    """Windows stores static addresses with the adapter, and the new device is a new one."""
    file = f"C:\\vnicaudit-{mac.replace(':', '')}"
    hyphens = mac.replace(":", "-").upper()
    if not system.old_windows:
        yield Snippet("powershell", "", _POWERSHELL.format(file=file, mac=hyphens))
    yield Snippet("netsh", "", _NETSH.format(file=file, mac=hyphens))


_POWERSHELL = """\
# 1. before the change, in the guest, as administrator
$nic = Get-NetAdapter | Where-Object {{ $_.MacAddress -eq '{mac}' }}
@{{
    Addresses = @(Get-NetIPAddress -InterfaceIndex $nic.ifIndex -PrefixOrigin Manual -ErrorAction SilentlyContinue |
        Select-Object IPAddress, PrefixLength)
    Gateways = @(Get-NetRoute -InterfaceIndex $nic.ifIndex -DestinationPrefix '0.0.0.0/0', '::/0' -ErrorAction SilentlyContinue |
        Select-Object DestinationPrefix, NextHop)
    Servers = @(Get-DnsClientServerAddress -InterfaceIndex $nic.ifIndex | ForEach-Object {{ $_.ServerAddresses }})
}} | Export-Clixml '{file}.xml'

# 2. after it; nothing is set where nothing was static
$nic = Get-NetAdapter | Where-Object {{ $_.MacAddress -eq '{mac}' }}
$kept = Import-Clixml '{file}.xml'
if ($kept.Addresses) {{
    foreach ($one in $kept.Addresses) {{
        New-NetIPAddress -InterfaceIndex $nic.ifIndex -IPAddress $one.IPAddress -PrefixLength $one.PrefixLength
    }}
    foreach ($one in $kept.Gateways) {{
        New-NetRoute -InterfaceIndex $nic.ifIndex -DestinationPrefix $one.DestinationPrefix -NextHop $one.NextHop
    }}
    if ($kept.Servers) {{
        Set-DnsClientServerAddress -InterfaceIndex $nic.ifIndex -ServerAddresses $kept.Servers
    }}
}}
"""  # noqa: E501
"""NetTCPIP, DnsClient and NetAdapter modules, from Windows 8 and Server 2012 on."""

_NETSH = """\
rem 1. before the change, in the guest, as administrator: keep what is static
netsh interface ip dump > {file}.txt
rem 2. after it: the new adapter's name, by its physical address {mac}
getmac /v /fo list
rem 3. give it what {file}.txt has for the old one, in place of CAPITALS
netsh interface ip set address name="NEW NAME" source=static addr=ADDRESS mask=MASK gateway=GATEWAY
netsh interface ip set dns name="NEW NAME" source=static addr=SERVER
"""
"""netsh of every Windows; ``set address`` as in its own help."""


_LONGEST_NAME = 256
"""Maximum length of a name in characters. Linux allows 15; Windows 256."""

_RESTART = (
    "The guest keeps the old device until it is powered off and started again; a reboot inside the "
    "guest is not enough."
)
_HOTSWAP = (
    "With --mode hotswap the running guest gets a new interface: the guest agent reads its "
    "addresses and routes before the change and restores them afterwards; any that cannot be "
    "restored are listed."
)
GHOST = (
    "Windows creates a new adapter for the new device: a static address stays with the old one, "
    "which is then hidden."
)
_NETKVM = "Windows does not include NetKVM: install it from virtio-win before the change."
_UNKNOWN_SYSTEM = (
    "The guest's operating system is unknown. Linux needs virtio_net; Windows needs NetKVM, which "
    "it does not include (install it from virtio-win)."
)
_OTHER_NAME = "If the name changes, the guest's configuration for {} no longer applies."
_NEW_ADAPTER = (
    "Windows creates a new adapter for the new device: a static address stays with the old one"
)
_NEW_NAME = (
    "the guest may no longer name it {}, and its configuration for that name would not apply: "
    "pin the name first"
)
_BY_DRIVER = (
    "this system names interfaces after their driver: configuration for the old name does not "
    "apply to the new one"
)
_SEVERAL = "The names ethN of the guest's other NICs may change too: they are assigned in order."
_PORT = (
    f"The id is {MODERN} if the address is a PCI Express port, else {TRANSITIONAL}: which of the "
    "two is unknown."
)
_TOO_NEW = f"A driver that supports only virtio 0.9 does not work with {MODERN}."
_BUS = "Bus {:02x} is the definition's number: the guest's firmware numbers buses itself."


def guest_view(domain: Domain, before: Nic, after: Nic, names: Mapping[str, str]) -> GuestView:
    """PCI ids, slots, names and drivers. ``before`` and ``after`` are the NIC of the persistent
    definition, read before and after the change; ``names``: MAC -> the present interface name, from
    the guest's agent."""
    today = _today(domain, before, names)
    system = system_of(domain, today)
    called = naming(domain, system, before, after, today)
    kept = () if same_device(before, after) else snippets(
        system, (before.mac or "").lower(), called.before, predicted=today is None
    )  # fmt: skip
    return replace(
        device_view(domain, system, before, after),
        slot_before=slot_of(before),
        slot_after=slot_of(after),
        name=called,
        notes=tuple(_notes(domain, system, before, after, called)),
        snippets=kept,
    )


def device_view(domain: Domain, system: System, before: Nic, after: Nic) -> GuestView:
    """PCI ids and drivers only."""
    driver = VIRTIO_DRIVERS.get(system.family or "")
    return GuestView(
        id_before=pci_id(before, domain.declared),
        id_after=pci_id(after, domain.declared),
        drivers=(driver,) if driver is not None and is_virtio(after) else (),
    )


def name_lost(domain: Domain, before: Nic, after: Nic, names: Mapping[str, str]) -> str:
    """Why the guest's configuration will no longer apply to the interface; empty if nothing
    indicates that. Arguments as for :func:`guest_view`."""
    today = _today(domain, before, names)
    system = system_of(domain, today)
    called = naming(domain, system, before, after, today)
    if not called_otherwise(system, before, after, called, today):
        return ""
    if system.family == WINDOWS:
        return _NEW_ADAPTER
    return _BY_DRIVER if called.before is None else _NEW_NAME.format(called.before)


def _today(domain: Domain, nic: Nic, names: Mapping[str, str]) -> str | None:
    """The agent's name for the NIC, if it is printable and no other NIC has the MAC."""
    mac = (nic.mac or "").lower()
    found = {name for address, name in names.items() if address.lower() == mac}
    if len(found) != 1 or sum((other.mac or "").lower() == mac for other in domain.nics) > 1:
        return None
    name = found.pop()
    return name if name.isprintable() and 0 < len(name) <= _LONGEST_NAME else None


def _notes(
    domain: Domain, system: System, before: Nic, after: Nic, called: Naming
) -> Iterator[str]:
    if not same_device(before, after):
        yield from driver_notes(domain, system, before, after)
        yield from _of_name(domain, system, called)
    if domain.state is not None and domain.state.active:
        yield _RESTART
        yield _HOTSWAP
    if port_unknown(after, domain.declared):
        yield _PORT
    modern = pci_id(after, domain.declared) == MODERN
    if modern and domain.declared.readiness == "ready-transitional":
        yield _TOO_NEW
    slot = pci_slot(after)
    if slot is not None and not slot.on_root_bus:
        yield _BUS.format(slot.bus)


def driver_notes(domain: Domain, system: System, before: Nic, after: Nic) -> Iterator[str]:
    """Advice on the driver of a NIC that becomes virtio, in a guest that may lack it."""
    if is_virtio(before) or not is_virtio(after) or domain.declared.readiness == "ready":
        return
    if system.family is None:
        yield _UNKNOWN_SYSTEM
    if system.family == WINDOWS:
        yield _NETKVM


def _of_name(domain: Domain, system: System, called: Naming) -> Iterator[str]:
    if system.family == WINDOWS:
        yield GHOST
    elif called.changes is not False:
        if called.before is not None:
            yield _OTHER_NAME.format(called.before)
        if KERNEL_NAME.fullmatch(called.before or "") and not only_nic(domain):
            yield _SEVERAL
