"""Uses Ansible itself if installed: ``ansible-inventory --list`` reads everything that Ansible can
read (folders, programs, plug-ins, ``group_vars``)."""

from __future__ import annotations

import os
import shutil

import msgspec

from vnicaudit.bench.endpoints.reach.process import run_here
from vnicaudit.errors import EndpointError, UsageError
from vnicaudit.fleet.inventory.ansible_groups import AnsibleGroups
from vnicaudit.model.decoding import json_as
from vnicaudit.text.secrets import masked_message

PROGRAM = "ansible-inventory"
_SECONDS = 120.0
_MOST = 256 << 20
_SAID_MAX = 600


class _Meta(msgspec.Struct):
    hostvars: dict[str, dict[str, object]] = {}


class _AnsibleGroup(msgspec.Struct):
    hosts: list[str] = []
    children: list[str] = []


def is_installed() -> bool:
    """True if the program is on the PATH."""
    return shutil.which(PROGRAM) is not None


def ask_ansible(path: str) -> AnsibleGroups:
    """The inventory that Ansible reads from a path. Raises UsageError if it cannot."""
    # an absolute path cannot be taken for an option or a list of hosts
    place = os.path.abspath(path)
    try:
        answer = run_here((PROGRAM, "--list", "-i", place), _SECONDS, _MOST)
    except EndpointError as error:
        raise UsageError(f"{path}: {error}") from None
    said = masked_message(answer.stderr.decode("utf-8", "replace").strip())
    if answer.code:
        raise UsageError(f"{path}: {PROGRAM}: {said[-_SAID_MAX:] or 'failed'}")
    groups = _groups(path, answer.stdout)
    if not groups.own:
        why = f": {said[-_SAID_MAX:]}" if said else ""
        raise UsageError(f"{path}: {PROGRAM} found no host in it{why}")
    return groups


def _groups(path: str, data: bytes) -> AnsibleGroups:
    try:
        parts = json_as(data, dict[str, msgspec.Raw])
        meta = json_as(bytes(parts.pop("_meta", msgspec.Raw(b"{}"))), _Meta)
        groups = {name: json_as(bytes(raw), _AnsibleGroup) for name, raw in parts.items()}
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: {PROGRAM} did not print an inventory: {error}") from None
    found = AnsibleGroups(path)
    for name, group in groups.items():
        found.add_group(name)
        for child in group.children:
            found.add_child(name, child)
        for host in group.hosts:
            found.add_host(host, name, f"{path} (by {PROGRAM})", meta.hostvars.get(host, {}))
    found.finish()
    return found
