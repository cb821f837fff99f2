"""The name of an interface in the guest: before and after a change, and what keeps it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from vnicaudit.base.wording import MAC
from vnicaudit.knowledge.systems import (
    KERNEL_NAME,
    LINUX,
    MAC_NAME,
    SYSTEMD_NAME,
    VIRTIO_DRIVERS,
    WINDOWS,
    Scheme,
    System,
    is_virtio,
    model_of,
    name_by_address,
    same_place,
    scheme_of,
)
from vnicaudit.model.domain import Domain
from vnicaudit.model.nic import Nic
from vnicaudit.model.plan import Naming, Snippet

# The name of an interface in the guest, before and after a change.
#
# The present name is known if the guest's agent reports it. Every other name is a prediction, which
# says how it was made and for which guests it holds, or is left open with the reason.


_Prediction = tuple[str | None, str]
"""A name, and how it was found; or None, and what the name depends on."""

_AGENT = "the guest agent reports the current name"
_STAYS = "driver and address stay the same, so the name does too"
_NOT_KNOWN = "the guest's naming scheme is unknown"
_PREDICTED = (
    "{} is predicted, if systemd (197 or newer, without net.ifnames=0) names the interfaces, the "
    "default of its distribution"
)
_NO_ADDRESS = (
    "systemd derives the name from the guest's own numbering of addresses, which is unknown"
)
_KERNEL_ONLY = (
    "{} is predicted: the kernel names NICs in the order it finds them, and this is the only one"
)
_KERNEL = "the kernel names NICs in the order it finds them, which depends on their drivers"
_ADDRESS_STAYS = "systemd derives it from the address, which stays the same"
_WHATEVER = "the address stays the same, and so does any name derived from it"
_MAC_STAYS = "systemd derives it from the MAC address, which stays the same"
_ETH = (
    "this system calls virtio NICs ethN, unless the kernel is started with net.ifnames=1 or a file "
    "ifcfg-* has their HWADDR (Red Hat solution 3219091)"
)
_MAY_BE_ETH = (
    "if it stays the same, so does a name derived from it, except in systems that call virtio NICs "
    "ethN, such as Red Hat Enterprise Linux 7"
)
_OWN = "it is a custom name, and stays if it is assigned by MAC address"
NEW_ADAPTER = "Windows creates a new adapter for the new device, with another name"
_BY_DRIVER = "this system names interfaces after their driver"


def naming(domain: Domain, system: System, before: Nic, after: Nic, today: str | None) -> Naming:
    """The names before and after a change; ``today`` is the agent's name for the interface, if it
    reports one. ``before`` and ``after`` are the NIC of the definition before and after."""
    now, why = (today, _AGENT) if today is not None else _predicted(domain, system, before)
    if same_device(before, after):
        reason = _STAYS if now is None else f"{why}; {_STAYS}"
        return Naming(now, now, reason, same_device=True)
    later, then = _later(domain, system, before, after, today)
    return Naming(now, later, why if then == why else f"{why}; {then}")


def same_device(before: Nic, after: Nic) -> bool:
    """True if the guest finds the same device: the same model at the same address. Without an
    address in the definition, libvirt gives the same address to the same model."""
    return (
        model_of(before) == model_of(after)
        and before.address == after.address
        and before.declared.address_type == after.declared.address_type
    )


def called_otherwise(
    system: System, before: Nic, after: Nic, called: Naming, today: str | None
) -> bool:
    """True if the interface will have another name: because both names are known or predicted, or
    because another part of the guest will choose the name. False if nothing indicates that."""
    if same_device(before, after):
        return False
    if system.family == WINDOWS:
        return True
    if called.changes is not None:
        return called.changes
    if system.family not in (LINUX, None):
        return is_virtio(before) != is_virtio(after)
    by_systemd = _style(system, before, today) == "systemd" or (
        today is not None and MAC_NAME.fullmatch(today) is not None
    )
    return by_systemd and scheme_of(system, after) == "kernel"


def only_nic(domain: Domain) -> bool:
    """True if the guest has only one NIC."""
    return max(domain.declared.nics, len(domain.nics)) == 1


def _predicted(domain: Domain, system: System, nic: Nic) -> _Prediction:
    if system.family not in (LINUX, None):
        return None, "the guest agent does not report the current name"
    scheme = scheme_of(system, nic)
    if scheme is None:
        return None, _NOT_KNOWN
    return _by_kernel(domain) if scheme == "kernel" else _by_systemd(domain, nic)


def _by_systemd(domain: Domain, nic: Nic) -> _Prediction:
    name = name_by_address(nic, domain.nics, domain.declared)
    return (None, _NO_ADDRESS) if name is None else (name, _PREDICTED.format(name))


def _by_kernel(domain: Domain) -> _Prediction:
    return ("eth0", _KERNEL_ONLY.format("eth0")) if only_nic(domain) else (None, _KERNEL)


def _later(
    domain: Domain, system: System, before: Nic, after: Nic, today: str | None
) -> _Prediction:
    if system.family == WINDOWS:
        return None, NEW_ADAPTER
    if system.family not in (LINUX, None):
        return _by_driver(domain, system.family)
    if today is not None and MAC_NAME.fullmatch(today):
        known = scheme_of(system, after) == "systemd" or is_virtio(before)
        return (today, _MAC_STAYS) if known else _not_by_address(system, after)
    style = _style(system, before, today)
    if style == "systemd":
        return _renamed(domain, system, before, after, today)
    if style == "kernel":
        if only_nic(domain) and today not in (None, "eth0"):
            return None, _OWN  # the only NIC, yet not eth0: a rule of the guest named it
        return _by_kernel(domain)
    return None, _OWN if today is not None else _NOT_KNOWN


def _style(system: System, before: Nic, today: str | None) -> Scheme | None:
    """The part of the guest that names this NIC now; None: another one, or unknown."""
    if today is None:
        return scheme_of(system, before)
    if KERNEL_NAME.fullmatch(today):
        return "kernel"
    return "systemd" if SYSTEMD_NAME.fullmatch(today) else None


def _renamed(
    domain: Domain, system: System, before: Nic, after: Nic, today: str | None
) -> _Prediction:
    """``(name, reason)``: the predicted name of an interface that systemd named after an address;
    None: unknown."""
    if not is_virtio(before) and scheme_of(system, after) != "systemd":
        return _not_by_address(system, after)
    if not same_place(before, after):
        return _by_systemd(domain, after)
    if today is not None:
        return today, _ADDRESS_STAYS
    name, why = _by_systemd(domain, before)
    return (name, why) if name is not None else (None, _WHATEVER)


def _not_by_address(system: System, after: Nic) -> _Prediction:
    return None, _ETH if scheme_of(system, after) == "kernel" else _MAY_BE_ETH


def _by_driver(domain: Domain, family: str | None) -> _Prediction:
    name = f"{VIRTIO_DRIVERS[family or '']}0" if only_nic(domain) else None
    return name, _BY_DRIVER


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
