"""Find the rule modules and say what they are."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

import vnicaudit.rules
from vnicaudit.errors import UsageError
from vnicaudit.model.finding import Severity
from vnicaudit.model.report import RuleInfo


class LoadedRule(NamedTuple):
    """What a rule module is asked about everything of one scope, looked up once."""

    id: str
    name: str
    severity: Severity
    scope: str
    needs: tuple[str, ...]
    applies: Any
    check: Any


@cache
def rule_ids() -> tuple[str, ...]:
    """The ids of all rules, ordered. Reads the folder, imports nothing."""
    names = [module.name for module in pkgutil.iter_modules(vnicaudit.rules.__path__)]
    return tuple(sorted(name.upper() for name in names if name.startswith("vnic")))


def module_of(rule_id: str) -> ModuleType:
    """The module of a rule. Raises UsageError when there is no such rule."""
    if rule_id.upper() not in rule_ids():
        raise UsageError(f"no rule {rule_id!r}; `vnicaudit rules` lists them")
    return importlib.import_module(f"vnicaudit.rules.{rule_id.lower()}")


def load(rule_id: str) -> LoadedRule:
    """One rule, ready to be asked."""
    module = module_of(rule_id)
    return LoadedRule(
        id=rule_id.upper(),
        name=module.NAME,
        severity=module.SEVERITY,
        scope=module.SCOPE,
        needs=module.NEEDS,
        applies=module.applies,
        check=module.check,
    )


def load_config(rule_id: str) -> LoadedRule | None:
    """A rule as it judges configuration files beside its own scope; None when it does not."""
    module = module_of(rule_id)
    if not hasattr(module, "check_config"):
        return None
    return load(rule_id)._replace(
        scope="config",
        needs=module.CONFIG_NEEDS,
        applies=module.applies_config,
        check=module.check_config,
    )


def info(rule_id: str) -> RuleInfo:
    """One rule's entry in the catalogue; ``manual`` is its docstring, Markdown."""
    module = module_of(rule_id)
    manual = inspect.cleandoc(module.__doc__ or "")
    summary = manual.split("\n\n", 1)[0].replace("\n", " ").strip()
    return RuleInfo(
        id=rule_id.upper(),
        name=module.NAME,
        severity=module.SEVERITY,
        scope=module.SCOPE,
        summary=summary.rstrip("."),
        manual=manual,
    )


def select(wanted: tuple[str, ...], ignored: tuple[str, ...]) -> tuple[str, ...]:
    """The ids that ``--select`` and ``--ignore`` leave. Both take ids or prefixes (``VNIC03``);
    nothing wanted means all. Raises UsageError for a prefix that matches no rule."""
    for prefix in (*wanted, *ignored):
        if not any(rule_id.startswith(prefix.upper()) for rule_id in rule_ids()):
            raise UsageError(f"no rule begins with {prefix!r}; `vnicaudit rules` lists them")

    def matches(rule_id: str, prefixes: tuple[str, ...]) -> bool:
        return any(rule_id.startswith(prefix.upper()) for prefix in prefixes)

    return tuple(
        rule_id
        for rule_id in rule_ids()
        if (not wanted or matches(rule_id, wanted)) and not matches(rule_id, ignored)
    )
