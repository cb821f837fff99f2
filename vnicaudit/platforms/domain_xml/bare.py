"""Placeholders without brackets: ``NICDRIVER``, ``XXXXXXX``, beside ``GUESTNAME`` or ``MEMORY``.

A word in capitals may as well be a model that somebody misspelt (``PCNET``), so it takes more than
that: the word itself says that it stands for something, or other words beside it do.
"""

from __future__ import annotations

import re

from lxml import etree

from vnicaudit.model.domain import Domain
from vnicaudit.model.models import is_model, stands_for_model

_WORD = re.compile(r"[A-Z][A-Z0-9_]{1,60}")
_NAMES = re.compile(r"X{3,}|[A-Z0-9_]*(?:GUEST|DOMAIN|VM|HOST|INSTANCE)_?NAME[A-Z0-9_]*|NAME")
_SHORTEST = 3
"""Letters: a shorter name of an element (``rx``), or an attribute's as short (``bar``, ``max``), is
the end of too many words."""
_NEVER_WORDS = ("memory", "currentMemory", "vcpu", "uuid")
"""Elements of a domain that hold a number or a UUID: libvirt refuses a word."""


def is_bare(text: str) -> bool:
    """Whether a value may be a placeholder: a word in capitals that is no model either."""
    text = text.strip()
    return _WORD.fullmatch(text) is not None and not is_model(text)


def names_itself(path: str, name: str, text: str) -> bool:
    """Whether a value of the attribute ``name`` of the child ``path`` says by itself that it stands
    for one: ``CHANGEME``, or what it is a value of (``MACADDR``, ``VLAN_ID``, ``DRIVERNAME``).
    ``MAYBE`` and ``DISABLED`` are values, and wrong ones."""
    text = text.strip()
    if not is_bare(text):
        return False
    names = {step.upper() for step in path.split("/") if len(step) >= _SHORTEST}
    names |= {name.upper()} if len(name) > _SHORTEST else set()
    return stands_for_model(text) or any(
        text.startswith(own) or text.endswith(own) or own in text.split("_") for own in names
    )


def may_hold_bare(domain: Domain) -> bool:
    """A quick look at what was read: whether a value in capitals decides something."""
    return any(
        nic.declared.invalid
        or nic.declared.refused
        or is_bare(nic.declared.model or "")
        or is_bare(nic.declared.type)
        or is_bare(nic.declared.driver_name or "")
        for nic in domain.nics
    )


def shows_bare(domain: etree._Element) -> bool:
    """Whether a definition shows that words in capitals in it are placeholders."""
    for name in _NEVER_WORDS:
        if is_bare(domain.findtext(name) or ""):
            return True
    name = (domain.findtext("name") or "").strip()
    if is_bare(name) and _NAMES.fullmatch(name):
        return True
    models = (model.get("type") or "" for model in domain.iterfind("devices/interface/model"))
    return any(map(stands_for_model, models))
