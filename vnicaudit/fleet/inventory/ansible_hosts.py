"""Ansible variables of a host -> its URI and options for vnicaudit.

``vnicaudit_uri`` takes precedence. Otherwise the host is reached by ssh, as Ansible would: at
``ansible_host``, as ``ansible_user``, on ``ansible_port``, with the key
``ansible_ssh_private_key_file``; ``ansible_connection: local`` means this machine. All other
variables, including secrets, are neither used nor stored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote

from vnicaudit.errors import UsageError
from vnicaudit.fleet.inventory.ansible_groups import AnsibleGroups
from vnicaudit.fleet.inventory.checks import (
    fault_of_address,
    fault_of_name,
    fault_of_uri,
    fault_of_user,
)
from vnicaudit.fleet.inventory.records import SourceHost, SourceHosts
from vnicaudit.model.fleet import HostOptions

_OWN_URI = "vnicaudit_uri"
_LOCAL = "qemu:///system"
_LOCAL_SOURCE = "ansible_connection: local"
_TRUE = frozenset({"true", "yes", "on", "1"})
_PORT = re.compile(r"[0-9]{1,5}")
_FALSE = frozenset({"false", "no", "off", "0"})


def source_hosts(groups: AnsibleGroups, notes: tuple[str, ...] = ()) -> SourceHosts:
    """The hosts of an inventory. Raises UsageError for an invalid variable."""
    hosts = tuple(
        _HostVariables(name, variables, groups.places[name]).host(own)
        for name, own, variables in groups.settled()
    )
    named = tuple(name for name in groups.groups if name not in ("all", "ungrouped"))
    return SourceHosts(hosts, named, notes)


class _HostVariables:
    """The variables of one host."""

    def __init__(self, name: str, variables: Mapping[str, object], place: str) -> None:
        self._name = name
        self._variables = variables
        self._place = place

    def host(self, groups: tuple[str, ...]) -> SourceHost:
        """The host described by the variables."""
        if fault := fault_of_name(self._name):
            raise self._error(fault)
        uri, uri_source = self._uri()
        return SourceHost(
            name=self._name,
            source=self._place,
            uri=uri,
            address=self._text("ansible_host", "ansible_ssh_host"),
            site=self._text("vnicaudit_site"),
            groups=groups,
            options=HostOptions(self._seconds("vnicaudit_deadline"), self._switch()),
            uri_source=uri_source,
            derived=bool(uri) and uri_source not in (_OWN_URI, _LOCAL_SOURCE),
        )

    def _uri(self) -> tuple[str, str]:
        """The URI of the host and where it comes from; both empty if no variable sets it, so that
        the template applies."""
        own = self._text(_OWN_URI)
        if own:
            uri = own.replace("{name}", self._name).replace("{host}", self._address())
            self._check(_OWN_URI, fault_of_uri(uri))
            return uri, _OWN_URI
        if self._text("ansible_connection") == "local":
            return _LOCAL, _LOCAL_SOURCE
        user, port = self._text("ansible_user", "ansible_ssh_user"), self._port()
        key = self._text("ansible_ssh_private_key_file")
        address = self._address()
        if not (user or port or key) and address == self._name:
            return "", ""
        login = f"{quote(user)}@" if user else ""
        query = f"?keyfile={quote(key)}" if key else ""
        return f"qemu+ssh://{login}{address}{port}/system{query}", self._names_used()

    def _names_used(self) -> str:
        names = ("ansible_host", "ansible_ssh_host", "ansible_user", "ansible_ssh_user",
                 "ansible_port", "ansible_ssh_port", "ansible_ssh_private_key_file")  # fmt: skip
        return ", ".join(name for name in names if self._variables.get(name) is not None)

    def _address(self) -> str:
        address = self._text("ansible_host", "ansible_ssh_host") or self._name
        self._check("ansible_host", fault_of_address(address))
        user = self._text("ansible_user", "ansible_ssh_user")
        if user:
            self._check("ansible_user", fault_of_user(user))
        return f"[{address}]" if ":" in address and not address.startswith("[") else address

    def _port(self) -> str:
        port = self._text("ansible_port", "ansible_ssh_port")
        if port and not (_PORT.fullmatch(port) and 0 < int(port) < 65536):
            raise self._error(f"ansible_port: {port[:40]!r} is not a port")
        return f":{port}" if port and port != "22" else ""

    def _seconds(self, name: str) -> float | None:
        text = self._text(name)
        if not text:
            return None
        try:
            seconds = float(text)
        except ValueError:
            seconds = 0
        if not 0.1 <= seconds <= 86_400:
            raise self._error(f"{name}: must be from 0.1 to 86400 seconds, not {text[:40]!r}")
        return seconds

    def _switch(self) -> bool | None:
        text = self._text("vnicaudit_agent").lower()
        if not text:
            return None
        if text not in _TRUE | _FALSE:
            raise self._error(f"vnicaudit_agent: must be true or false, not {text[:40]!r}")
        return text in _TRUE

    def _text(self, *names: str) -> str:
        """The first of these variables that is set, as text; empty: none is set."""
        for name in names:
            value = self._variables.get(name)
            if value is None:
                continue
            try:
                text = str(value)
            except ValueError:  # a number of thousands of digits
                raise self._error(f"{name}: too long a number") from None
            if "{{" in text or "{%" in text:
                raise self._error(
                    f"{name} is a template, which only Ansible can evaluate; set vnicaudit_uri"
                )
            return text
        return ""

    def _check(self, name: str, fault: str) -> None:
        if fault:
            raise self._error(f"{name}: {fault}")

    def _error(self, message: str) -> UsageError:
        return UsageError(f"{self._place}: {self._name}: {message}")
