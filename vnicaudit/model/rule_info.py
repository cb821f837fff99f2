"""Rules as catalogues and reports list them: the records behind ``vnicaudit.rules/1``."""

from __future__ import annotations

from typing import Literal

import msgspec

from vnicaudit.model.finding import Severity

RULES_SCHEMA: Literal["vnicaudit.rules/1"] = "vnicaudit.rules/1"


class RuleSetting(msgspec.Struct, frozen=True):
    """A setting of a rule in `vnicaudit.toml`."""

    name: str
    default: str
    """Its default, written as in TOML."""
    meaning: str


class RuleInfo(msgspec.Struct, frozen=True):
    """One rule, for catalogues and for SARIF."""

    id: str
    name: str
    severity: Severity
    scope: str
    summary: str
    manual: str
    judges: tuple[str, ...] = ()
    """The scopes it judges, the main one first; ``manifests``: also NICs in KubeVirt manifests;
    ``servers``: also servers of OpenStack, from Nova's records."""
    groups: tuple[str, ...] = ()
    """Words by which it is selected together with others."""
    settings: tuple[RuleSetting, ...] = ()


class RulesReport(msgspec.Struct, frozen=True, kw_only=True):
    """``vnicaudit.rules/1``: the catalogue."""

    schema: Literal["vnicaudit.rules/1"] = RULES_SCHEMA
    rules: tuple[RuleInfo, ...]
