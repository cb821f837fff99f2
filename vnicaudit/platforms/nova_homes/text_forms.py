"""Recognise devstack's local.conf, commands that set options, and manifests of Puppet."""

from __future__ import annotations

import re

from vnicaudit.text.beginning import is_script, like_yaml, quotes_others

_FIRST = re.compile(rb"(?m)^(?:\xef\xbb\xbf)?[ \t]*([^#;\s][^\n]*)")
"""The first line that is neither empty nor a comment."""

_BLOCK = re.compile(
    rb"(?m)^\[\[(?!local\|)[^|\n]{1,80}\|[^\n]*(?:NOVA_CONF|NOVA_CPU_CONF|nova(?:-cpu)?\.conf)"
)
_SETS = re.compile(
    rb"\b(?:crudini|openstack-config)\b[^\n]{1,80}?--set\b|\biniset[ \t]+(?:-sudo[ \t]+)?[\"'/$]"
)
_COMMAND = re.compile(rb"(?:sudo[ \t]+)?(?:crudini|openstack-config|iniset|FROM|ARG|RUN)[ \t]")
_RESOURCE = re.compile(
    rb"\bnova_config[ \t]*\{"
    rb"|\bclass[ \t]*\{[\s\[]{0,80}[\"'](?:::)?nova::(?:compute|config|network)"
)
_STATEMENT = re.compile(
    rb"(?:class|node|define|include|contain|if|unless|case)[ \t]|\$[\w:]{1,80}[ \t]*="
    rb"|[A-Za-z]\w{0,80}(?:::\w{1,80}){0,9}[ \t]*\{"
)


def _first(head: bytes) -> bytes:
    found = _FIRST.search(head)
    return found[1] if found else b""


def is_local_conf(head: bytes) -> bool:
    """True for a local.conf with a block for nova.conf."""
    return _BLOCK.search(head) is not None and _first(head).startswith(b"[[")


def has_commands(head: bytes) -> bool:
    """True for a script, a Dockerfile or YAML with a command that sets an option of Nova."""
    if _SETS.search(head) is None or b"nova" not in head.lower() or quotes_others(head):
        return False
    return is_script(head) or _COMMAND.match(_first(head)) is not None or like_yaml(head)


def is_manifest(head: bytes) -> bool:
    """True for a manifest of Puppet that may set an option of Nova."""
    return _RESOURCE.search(head) is not None and _STATEMENT.match(_first(head)) is not None
