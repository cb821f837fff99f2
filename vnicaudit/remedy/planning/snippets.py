"""Snippets of a guest's configuration that keep an interface's name or address by its MAC.

A MAC and a name come from outside: if either is not clearly valid, there is no snippet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from vnicaudit.base.identifiers import MAC
from vnicaudit.knowledge.systems import KERNEL_NAME, LINUX, WINDOWS, System
from vnicaudit.model.plan import Snippet

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,14}", re.ASCII)

_CHECK = "# {name} is predicted: compare with `ip -br link` in the guest first\n"
_RACE = (
    "# the kernel may give {name} to another NIC first: safe where this is the only one, else use\n"
    "# a name of your own, as lan0\n"
)
_RED_HAT = frozenset({"centos", "eurolinux", "ol", "rhel", "rhel-atomic", "scientificlinux"})
_SUSE = frozenset({"opensuse", "sle", "sled", "slem", "sles"})
_NEW_RED_HAT = frozenset({"almalinux", "centos-stream", "fedora", "rocky"})


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
    name, version = system.distribution, system.version
    if name == "alpinelinux":
        return ()
    if version is None or name is None:
        return _ALL
    if name == "debian":
        return (_systemd_link,) if version >= (9, 0) else (_udev,)
    if name == "ubuntu":
        if version < (15, 10):
            return (_udev,)
        return (_netplan, _systemd_link) if version >= (17, 10) else (_systemd_link,)
    if name in _RED_HAT and version < (8, 0):
        return (_ifcfg, _udev)
    if name in _RED_HAT | _NEW_RED_HAT:
        return (_networkmanager, _systemd_link)
    if name in _SUSE:
        return (_systemd_link, _udev) if version >= (15, 0) else (_udev,)
    if name == "archlinux":
        return (_systemd_link, _networkmanager)
    return _ALL


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


def _netplan(mac: str, name: str, head: str) -> Snippet:
    """netplan(5): later files amend the definition of the same id (tried with netplan 0.106);
    ``set-name`` needs ``match``. Quoted, as YAML 1.1 reads ``52:54:00:12:34:56`` as a number."""
    text = (
        f"{head}{_race(name)}# mode 0600; adds to the definition of that id, so use the one there\n"
        f'network:\n  version: 2\n  ethernets:\n    "{name}":\n      match:\n'
        f'        macaddress: "{mac}"\n      set-name: "{name}"\n'
    )
    return Snippet("netplan", f"/etc/netplan/90-vnicaudit-{name}.yaml", text)


def _networkmanager(mac: str, name: str, head: str) -> Snippet:
    """nm-settings(5): ``802-3-ethernet.mac-address`` is compared with the permanent MAC address; an
    empty ``connection.interface-name`` matches any name. The connection's UUID is queried: unlike
    its name, nmcli(1) prints it without escapes."""
    text = (
        f"{head}# before the change, as root: the connection is bound to the MAC, not to the name\n"
        f'nmcli connection modify "$(nmcli -g GENERAL.CON-UUID device show {name})" \\\n'
        f'  802-3-ethernet.mac-address {mac} connection.interface-name ""\n'
    )
    return Snippet("networkmanager", "", text)


def _ifcfg(mac: str, name: str, head: str) -> Snippet:
    """Red Hat Enterprise Linux 7 Networking Guide, 11.2: udev's 60-net.rules renames the NIC whose
    MAC is HWADDR to DEVICE, before any other rule, ``net.ifnames=`` or not."""
    text = (
        f"{head}# these two in the file there is; what else it says stays\n"
        f"DEVICE={name}\nHWADDR={mac.upper()}\n"
    )
    return Snippet("ifcfg", f"/etc/sysconfig/network-scripts/ifcfg-{name}", text)


def _udev(mac: str, name: str, head: str) -> Snippet:
    """Red Hat solution 1301563, option 1; the file that udev's own generator wrote, where it had
    one."""
    rule = (
        f'SUBSYSTEM=="net", ACTION=="add", ATTR{{address}}=="{mac}", ATTR{{type}}=="1", '
        f'NAME="{name}"\n'
    )
    text = f"{head}{_race(name)}# instead of a line there is for this MAC\n{rule}"
    return Snippet("udev", "/etc/udev/rules.d/70-persistent-net.rules", text)


_ALL: tuple[_Make, ...] = (_systemd_link, _netplan, _networkmanager, _ifcfg, _udev)


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
