"""Files of other programs from which nova.conf is written: variables of deployment tools,
manifests, scripts.

Each is read as sections with options, like nova.conf itself
(:class:`vnicaudit.platforms.nova_conf.read.OptionCollector`). Such a file is only a part of a
configuration: others may set more, so a home's configuration is never complete.

This module recognises files; the reader of a form is imported when a file has that form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from vnicaudit.knowledge.nova_conf.homes import (
    JUJU_CHARMS,
    JUJU_OPTIONS,
    TRIPLEO_PARAMETERS,
    VARIABLES,
)
from vnicaudit.model.file_kind import Content, FileKind, Item
from vnicaudit.platforms.nova_conf.recognise import configurations_in
from vnicaudit.text.beginning import is_script, like_yaml, quotes_others

_WORDS = (b"nova", b"Nova", b"NOVA_C", b"[libvirt]", b"[pci]", b"[DEFAULT]")
"""Quick check: most files of a folder contain none of these."""
_KEY = re.compile(
    r"""(?<![\w:.-])(?:nova_nova_conf_overrides|nova::[a-z:_]{1,80}[a-z_]|"""
    rf"""{"|".join((*TRIPLEO_PARAMETERS, *VARIABLES))}|[\w.-]{{0,80}}nova[\w.-]{{0,80}}\.conf)"""
    r"""["']?[ \t]*:(?!:)""".encode()
)
"""A key that holds options, or an own nova.conf."""
_CONF = re.compile(rb"""(?<![\w.-])conf["']?[ \t]*:""")
_NOVA = re.compile(rb"""(?<![\w.-])nova["']?[ \t]*:(?!:)""")
_CHARMS = tuple(charm.encode() for charm in JUJU_CHARMS)
_CHARMS_OPTION = re.compile(
    rf"(?<![\w-])(?:config-flags|{'|'.join(JUJU_OPTIONS)})[\"']?[ \t]*:".encode()
)
_FILE = re.compile(rb"(?:dest|path)[\"']?[ \t]*:[^\n]{0,200}[/}]nova(?:-compute)?\.conf(?![\w-])")
_TASKS = (b"ini_file", b"config_template", b"ini.options_present")
_FIRST = re.compile(rb"(?m)^(?:\xef\xbb\xbf)?[ \t]*([^#;\s][^\n]*)")
"""The first line that is neither empty nor a comment."""
_SECTION = re.compile(rb"\[\w")
"""A first line that begins a section, perhaps not as it should."""
_BLOCK = re.compile(
    rb"(?m)^\[\[(?!local\|)[^|\n]{1,80}\|[^\n]*(?:NOVA_CONF|NOVA_CPU_CONF|nova(?:-cpu)?\.conf)"
)
_SETS = re.compile(
    rb"\b(?:crudini|openstack-config)\b[^\n]{1,80}?--set\b|\biniset[ \t]+(?:-sudo[ \t]+)?[\"'/$]"
    rb"|(?i:nova[\w.-]{0,20}conf)[^\n]{0,80}<<|<<[^\n]{0,80}(?i:nova[\w.-]{0,20}conf)"
)
"""A command that sets an option, or one that writes a here-document to a nova.conf."""
_COMMAND = re.compile(
    rb"(?:sudo[ \t]+)?(?:(?:crudini|openstack-config|iniset|FROM|ARG|RUN)[ \t]"
    rb"|(?:apt|apt-get|dnf|yum|zypper)[ \t]+(?:-\S{1,40}[ \t]+){0,9}(?:install|update)(?![\w-]))"
)
"""The first line of a Dockerfile, or of a script that names no shell."""
_RESOURCE = re.compile(
    rb"\bnova_config[ \t]*\{"
    rb"|\bclass[ \t]*\{[\s\[]{0,80}[\"'](?:::)?nova::(?:compute|config|network)"
)
_STATEMENT = re.compile(
    rb"(?:class|node|define|include|contain|if|unless|case)[ \t]|\$[\w:]{1,80}[ \t]*="
    rb"|[A-Za-z]\w{0,80}(?:::\w{1,80}){0,9}[ \t]*\{"
)


def _is_yaml(head: bytes) -> bool:
    """True for YAML in which some program keeps options of Nova, or that holds a nova.conf."""
    if b"\0" in head or not like_yaml(head) or quotes_others(head) or is_script(head):
        return False
    if _SECTION.match(_first(head)):
        return False
    return bool(
        _KEY.search(head)
        or (any(charm in head for charm in _CHARMS) and _CHARMS_OPTION.search(head))
        or (_NOVA.search(head) and (b"customServiceConfig" in head or _CONF.search(head)))
        or (b"nova" in head and b".conf" in head and any(word in head for word in _TASKS))
        or ((b"content" in head or b"template:" in head) and _FILE.search(head))
        or next(configurations_in(head), None) is not None
    )


def _first(head: bytes) -> bytes:
    found = _FIRST.search(head)
    return found[1] if found else b""


def _is_local_conf(head: bytes) -> bool:
    """True for a local.conf with a block for nova.conf."""
    return _first(head).startswith(b"[[") and _BLOCK.search(head) is not None


def _has_commands(head: bytes) -> bool:
    """True for a script, a Dockerfile or YAML with a command that sets an option of Nova."""
    if not (is_script(head) or _COMMAND.match(_first(head)) or like_yaml(head)):
        return False
    found = b"nova" in head.lower() and _SETS.search(head) is not None
    return found and not quotes_others(head)


def _is_manifest(head: bytes) -> bool:
    """True for a manifest of Puppet that may set an option of Nova."""
    return _STATEMENT.match(_first(head)) is not None and _RESOURCE.search(head) is not None


_FORMS: dict[str, Callable[[bytes], bool]] = {
    "yaml_homes": _is_yaml,
    "commands": _has_commands,
    "puppet": _is_manifest,
}
"""Module that reads a form -> what recognises the form."""


def _forms_of(head: bytes) -> list[str]:
    """The forms of a file; it may have parts of several."""
    if not any(word in head for word in _WORDS):
        return []
    if _is_local_conf(head):
        return ["local_conf"]
    return [name for name, is_one in _FORMS.items() if is_one(head)]


def looks_like(head: bytes) -> bool:
    """True if a file that begins with ``head`` sets Nova's options in one of these forms."""
    return bool(_forms_of(head))


def _read_content(content: Content) -> Iterator[Item]:
    for name in _forms_of(content.data):
        yield from _reader(name)(content)


def _reader(name: str) -> Callable[[Content], Iterator[Item]]:
    if name == "yaml_homes":
        from vnicaudit.platforms.nova_homes import yaml_homes

        return yaml_homes.read
    from vnicaudit.platforms.nova_homes import commands, local_conf, puppet

    return {"commands": commands.read, "local_conf": local_conf.read, "puppet": puppet.read}[name]


NOVA_HOMES = FileKind(
    "Nova options of a deployment tool",
    "option of Nova",
    "code",
    looks_like,
    _read_content,
    forms="OpenStack-Ansible, Helm, Hiera, Puppet, TripleO, RHOSO, Juju, Ansible, Salt, devstack, "
    "crudini",
)
