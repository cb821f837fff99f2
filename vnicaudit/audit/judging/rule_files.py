"""Rules in files: load the rule of a module, and check it.

mypy checks the shipped rules; a rule from outside may be anything, so each is checked when it is
loaded. An error names the file and the field.
"""

from __future__ import annotations

import importlib
import inspect
import os
from functools import cache
from types import ModuleType
from typing import get_args

import msgspec

import vnicaudit.rules
from vnicaudit.errors import UsageError
from vnicaudit.model.decoding import json_as
from vnicaudit.model.finding import SEVERITIES, AuditedScope, DescriptionKind, Scope
from vnicaudit.model.rule import Fact, Judge, Rule

_INDEX = "index.json"
_PREFIX, _DIGITS, _SUFFIX = "vnic", 3, ".py"
"""The beginning and the end of a file with a rule; between them is its number."""
_FORMS = get_args(DescriptionKind)
_SCOPES = ("nic", *get_args(AuditedScope))


class ListedRule(msgspec.Struct, frozen=True, omit_defaults=True):
    """The facts of a rule that are known before it is loaded: enough to select it, and to tell
    if there is something for it to judge."""

    id: str
    name: str
    groups: tuple[str, ...]
    scopes: tuple[Scope, ...]
    """Its main scope first."""
    forms: tuple[DescriptionKind, ...]


@cache
def shipped_rules() -> tuple[ListedRule, ...]:
    """The rules of this package, ordered by id. Reads their index, which docs/generate_rules.py
    writes; a rule that is not in it yet is loaded."""
    (folder,) = vnicaudit.rules.__path__
    with open(os.path.join(folder, _INDEX), "rb") as stream:
        index = {each.id: each for each in json_as(stream.read(), tuple[ListedRule, ...])}
    ids = (name[:-3].upper() for name in os.listdir(folder) if _is_rule_file(name))
    return tuple(
        index.get(rule_id) or listed(rule_id, load_shipped_rule(rule_id)) for rule_id in sorted(ids)
    )


def _is_rule_file(name: str) -> bool:
    number = name.removeprefix(_PREFIX).removesuffix(_SUFFIX)
    is_number = len(number) == _DIGITS and number.isascii() and number.isdigit()
    return is_number and name == f"{_PREFIX}{number}{_SUFFIX}"


def index_text() -> str:
    """The content of the index file, generated from the rules themselves: one rule per line."""
    ids = (each.id for each in shipped_rules())
    rules = (
        msgspec.json.encode(listed(rule_id, load_shipped_rule(rule_id))).decode() for rule_id in ids
    )
    return "[\n" + ",\n".join(rules) + "\n]\n"


def shipped_module(rule_id: str) -> ModuleType:
    """The module of a rule that comes with this package."""
    return importlib.import_module(f"{vnicaudit.rules.__name__}.{rule_id.lower()}")


def load_shipped_rule(rule_id: str) -> Rule:
    """Load a rule that comes with this package."""
    return rule_in(shipped_module(rule_id))


def listed(rule_id: str, rule: Rule) -> ListedRule:
    """The entry of a rule in the index."""
    scopes = tuple(judge.scope for judge in rule.judges)
    return ListedRule(rule_id, rule.name, rule.groups, scopes, rule.forms)


def rule_in(module: ModuleType) -> Rule:
    """The rule of a module. Raises UsageError if it is not a valid rule."""
    file = module.__file__ or module.__name__
    rule: object = getattr(module, "RULE", None)
    if not isinstance(rule, Rule):
        raise UsageError(f"{file}: RULE is missing, or is not a Rule of vnicaudit.model.rule")
    problem = _problem(rule)
    if problem is None and not (module.__doc__ or "").strip():
        problem = "the docstring is missing: it is the rule's manual page"
    if problem is not None:
        raise UsageError(f"{file}: {problem}")
    return rule


def manual_of(module: ModuleType) -> str:
    """A rule's manual page, in Markdown."""
    return inspect.cleandoc(module.__doc__ or "")


def _problem(rule: Rule) -> str | None:
    """First problem with the fields of a rule, whose types may never have been checked; None if
    they are valid."""
    if not _is_word(rule.name):
        return f"name: expected words such as small-ring, not {rule.name!r}"
    if rule.severity not in SEVERITIES:
        return f"severity: expected one of {', '.join(SEVERITIES)}, not {rule.severity!r}"
    if not isinstance(rule.groups, tuple) or not all(map(_is_word, rule.groups)):
        return f"groups: expected a tuple of words such as models, not {rule.groups!r}"
    if not isinstance(rule.forms, tuple) or not set(rule.forms) <= set(_FORMS) or not rule.forms:
        return f"forms: expected a tuple of {', '.join(_FORMS)}, not {rule.forms!r}"
    if not isinstance(rule.judges, tuple) or not rule.judges:
        return "judges: expected a tuple of at least one judge"
    return _judges_problem(rule.judges)


def _judges_problem(judges: tuple[object, ...]) -> str | None:
    scopes: set[str] = set()
    for judge in judges:
        if not isinstance(judge, Judge):
            return f"judges: expected a Judge, not {type(judge).__name__}"
        scope: str = judge.scope
        if scope not in _SCOPES:
            return f"judges: scope: expected one of {', '.join(_SCOPES)}, not {scope!r}"
        if scope in scopes:
            return f"judges: more than one for {scope}"
        scopes.add(scope)
        for field in ("applies", "check"):
            if not callable(getattr(judge, field)):
                return f"judges: {field} of the one for {scope} is not a function"
        needs: object = judge.needs
        if not isinstance(needs, tuple) or not all(isinstance(need, Fact) for need in needs):
            return f"judges: needs of the one for {scope} is not a tuple of facts"
    return None


def _is_word(text: object) -> bool:
    """True for words such as small-ring: lower-case letters and digits, beginning with a letter."""
    if not isinstance(text, str) or not text.isascii() or not text[:1].isalpha():
        return False
    return text == text.lower() and all(part.isalnum() for part in text.split("-"))
