"""Placeholders without brackets: ``NICDRIVER``, ``XXXXXXX``, also ``GUESTNAME`` or ``MEMORY``.

A word in capitals may also be a misspelt model (``PCNET``), so more evidence is needed: the word
itself is that of a placeholder, or other words in the definition are.
"""

from __future__ import annotations

import re
from functools import lru_cache

from lxml import etree

from vnicaudit.knowledge.models import is_model, stands_for_model
from vnicaudit.model.domain import Domain
from vnicaudit.model.nic import NicConfig

_WORD = re.compile(r"[A-Z][A-Z0-9_]{1,60}")
_NAMES = re.compile(r"X{3,}|[A-Z0-9_]*(?:GUEST|DOMAIN|VM|HOST|INSTANCE)_?NAME[A-Z0-9_]*|NAME")
_SHORTEST = 3
"""Minimum letters in the name of an element; an attribute's needs one more. A shorter name (``rx``,
``bar``, ``max``) is the end of too many words."""
_NEVER_WORDS = ("memory", "currentMemory", "vcpu", "uuid")
"""Elements of a domain that hold a number or a UUID: libvirt refuses a word there."""


def is_bare(text: str) -> bool:
    """True for a word in capitals that is not a NIC model and so may be a placeholder."""
    text = text.strip()
    return _WORD.fullmatch(text) is not None and not is_model(text)


def names_itself(path: str, name: str, text: str) -> bool:
    """True if the value of the attribute ``name`` of the child ``path`` is a placeholder by its
    wording: ``CHANGEME``, or the name of its element or attribute (``MACADDR``, ``VLAN_ID``,
    ``DRIVERNAME``). ``MAYBE`` and ``DISABLED`` count as (wrong) values."""
    text = text.strip()
    if not is_bare(text):
        return False
    names = {step.upper() for step in path.split("/") if len(step) >= _SHORTEST}
    names |= {name.upper()} if len(name) > _SHORTEST else set()
    return stands_for_model(text) or any(
        text.startswith(own) or text.endswith(own) or own in text.split("_") for own in names
    )


def may_hold_bare(domain: Domain) -> bool:
    """Quick check whether a relevant value of the domain is in capitals."""
    return any(_may_be_bare(nic.declared) for nic in domain.nics)


@lru_cache(maxsize=4096)  # a fleet has many NICs but few kinds of them
def _may_be_bare(nic: NicConfig) -> bool:
    return bool(
        nic.invalid
        or nic.refused
        or is_bare(nic.model or "")
        or is_bare(nic.type)
        or is_bare(nic.driver_name or "")
    )


def shows_bare(domain: etree._Element) -> bool:
    """True if a definition shows that it uses words in capitals as placeholders."""
    for name in _NEVER_WORDS:
        if is_bare(domain.findtext(name) or ""):
            return True
    name = (domain.findtext("name") or "").strip()
    if is_bare(name) and _NAMES.fullmatch(name):
        return True
    models = (model.get("type") or "" for model in domain.iterfind("devices/interface/model"))
    return any(map(stands_for_model, models))
