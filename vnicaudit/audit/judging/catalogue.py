"""The catalogue of rules: all rules of a run, their selection, and their judges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher, get_close_matches
from functools import cache
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Generic, TypeVar, cast

import msgspec
from msgspec.structs import replace

from vnicaudit.audit.judging.rule_files import (
    ListedRule,
    manual_of,
    outside_rules,
    rule_in,
    shipped_module,
    shipped_rules,
)
from vnicaudit.base.wording import close_to
from vnicaudit.errors import UsageError
from vnicaudit.model.finding import DescriptionKind, Scope, Severity
from vnicaudit.model.names import RuleInfo, RuleSetting
from vnicaudit.model.rule import AnyJudge, Judge, Rule

if TYPE_CHECKING:
    from vnicaudit.audit.judging.rule_files import OutsideRule

# The rule id that the user probably meant, for messages on unknown ids.


LISTS_RULES = "; `vnicaudit rules` lists them"

_DIGITS = "0123456789"


def id_hint(word: str, ids: Sequence[str]) -> str:
    """``; did you mean '…'?``, or how to list the rules if no id is close."""
    return close_hint(word, ids) or LISTS_RULES


def close_hint(word: str, ids: Sequence[str]) -> str:
    """``; did you mean '…'?``; empty if no id is close."""
    close = closest_id(word, ids)
    return f"; did you mean {close!r}?" if close else ""


def has_known_prefix(word: str, ids: Sequence[str]) -> bool:
    """True for a known prefix with an unknown number (``VNIC999``): the user means some other
    rule."""
    prefix = word.upper().rstrip(_DIGITS)
    return any(one.rstrip(_DIGITS) == prefix for one in ids)


def closest_id(word: str, ids: Sequence[str]) -> str:
    """The one id that the user probably meant; empty if none is close, if several are equally
    close, or if its number would be another one."""
    word = word.upper().replace("-", "")
    if word in ids:
        return word
    same_number = [one for one in ids if _without_zeros(one) == _without_zeros(word)]
    if len(same_number) == 1 and not any(one.startswith(word) for one in ids):
        return same_number[0]
    if has_known_prefix(word, ids):
        return ""
    number = word[len(word.rstrip(_DIGITS)) :]
    return _closest(word, [one for one in ids if one.endswith(number)])


def _without_zeros(word: str) -> str:
    """``VNIC1`` for ``VNIC001`` and ``VNIC0001``."""
    prefix = word.rstrip(_DIGITS)
    return prefix + word[len(prefix) :].lstrip("0")


def _closest(word: str, ids: Sequence[str]) -> str:
    near = get_close_matches(word, ids, 2)
    likeness = [SequenceMatcher(None, one, word).ratio() for one in near]
    return "" if not near or likeness[1:] == likeness[:1] else near[0]


S = TypeVar("S")


class NamedRule(msgspec.Struct, frozen=True):
    """The part of a rule that its findings repeat."""

    id: str
    name: str
    severity: Severity


class LoadedRule(NamedRule, Generic[S], frozen=True):
    """A rule with its judge for one kind of subject."""

    judge: Judge[S]


class RuleOptions(msgspec.Struct, frozen=True):
    """A rule's table in the settings."""

    severity: Severity | None = None
    """The severity of all its findings."""
    table: dict[str, object] = {}
    """The rule's own keys."""


class Catalogue:
    """All rules of a run."""

    def __init__(
        self,
        rules: Iterable[ListedRule],
        options: Mapping[str, RuleOptions] = MappingProxyType({}),
        outside: Iterable[OutsideRule] = (),
    ) -> None:
        self._outside = {rule.id: rule for rule in outside}
        self._shipped = tuple(rules)
        every = (*self._shipped, *(rule.listed for rule in self._outside.values()))
        self._rules = {rule.id: rule for rule in every}
        self._options = options
        self.ids = tuple(self._rules)
        """The rules' ids, sorted."""

    def adjusted(self, options: Mapping[str, RuleOptions]) -> Catalogue:
        """Return the catalogue with these settings of rules, by id. Raises msgspec.ValidationError
        for a key that a rule does not have."""
        for rule_id, wanted in options.items():
            _adjusted(self.rule(rule_id), wanted)
        return Catalogue(self._shipped, options, self._outside.values())

    def listed(self, rule_id: str) -> ListedRule:
        """The listed facts of a rule, without loading it. Raises UsageError if there is none."""
        found = self._rules.get(rule_id.upper())
        if found is None:
            raise UsageError(f"no rule {rule_id!r}; `vnicaudit rules` lists them")
        return found

    def module(self, rule_id: str) -> ModuleType:
        """The module of a rule. Raises UsageError if there is none."""
        entry = self.listed(rule_id)
        outside = self._outside.get(entry.id)
        return shipped_module(entry.id) if outside is None else outside.module

    def rule(self, rule_id: str) -> Rule:
        """A rule, loaded, with its settings. Raises UsageError if there is none."""
        rule, wanted = rule_in(self.module(rule_id)), self._options.get(rule_id)
        return rule if wanted is None else _adjusted(rule, wanted)

    @property
    def regrades(self) -> bool:
        """True if the settings give a rule another severity."""
        return any(options.severity is not None for options in self._options.values())

    def severity(self, rule_id: str) -> Severity | None:
        """The severity that the settings give to all findings of a rule; None: each has its own."""
        wanted = self._options.get(rule_id)
        return None if wanted is None else wanted.severity

    def main_judge(self, rule_id: str) -> AnyJudge:
        """The judge of a rule's main scope."""
        return self.rule(rule_id).judges[0]

    def info(self, rule_id: str) -> RuleInfo:
        """A rule's entry for catalogues and reports; ``manual`` is its docstring, Markdown."""
        entry, rule = self.listed(rule_id), self.rule(rule_id)
        manual = manual_of(self.module(rule_id))
        summary = manual.split("\n\n", 1)[0].replace("\n", " ").strip()
        beside = [f"{form}s" for form in entry.forms if form != "definition"]
        return RuleInfo(
            id=entry.id,
            name=rule.name,
            severity=self.severity(entry.id) or rule.severity,
            scope=entry.scopes[0],
            judges=(entry.scopes[0], *sorted([*entry.scopes[1:], *beside])),
            summary=summary.rstrip("."),
            manual=manual,
            groups=entry.groups,
            settings=tuple(settings_of(rule)),
        )

    def has_scope(self, scope: Scope, rule_ids: Iterable[str]) -> bool:
        """True if one of these rules judges subjects of this kind."""
        return any(scope in self.listed(rule_id).scopes for rule_id in rule_ids)

    def select(self, wanted: Iterable[str], ignored: Iterable[str]) -> tuple[str, ...]:
        """The ids that ``--select`` and ``--ignore`` leave; nothing wanted means all. Raises
        UsageError for a word that matches no rule."""
        wanted, ignored = tuple(wanted), tuple(ignored)
        for word in (*wanted, *ignored):
            if not self.rules_named(word):
                hint = self.hint(word)
                raise UsageError(unknown_word(word) + hint)
        chosen = {rule_id for word in wanted for rule_id in self.rules_named(word)}
        dropped = {rule_id for word in ignored for rule_id in self.rules_named(word)}
        return tuple(
            rule_id
            for rule_id in self.ids
            if (not wanted or rule_id in chosen) and rule_id not in dropped
        )

    def rules_named(self, word: str) -> tuple[str, ...]:
        """The ids of the rules that a word selects: an id or a prefix of ids (``VNIC03``), a
        rule's name, or a group."""
        if not word:
            return ()
        beginning, name = word.upper(), word.lower()
        return tuple(
            rule.id
            for rule in self._rules.values()
            if rule.id.startswith(beginning) or name == rule.name or name in rule.groups
        )

    def groups(self) -> dict[str, tuple[str, ...]]:
        """Each group with the ids of its rules, both sorted."""
        names = sorted({group for rule in self._rules.values() for group in rule.groups})
        rules = self._rules.values()
        return {name: tuple(one.id for one in rules if name in one.groups) for name in names}

    def hint(self, word: str) -> str:
        """``; did you mean '…'?``; if no id, name or group is close, how to list the rules."""
        if has_known_prefix(word, self.ids) or closest_id(word, self.ids):
            return id_hint(word, self.ids)
        names = [*self.groups(), *(rule.name for rule in self._rules.values())]
        return close_to(word.lower(), names) or LISTS_RULES


def unknown_word(word: str) -> str:
    """The sentence on a word that matches no rule."""
    if not word or word.isupper() or any(map(str.isdigit, word)):
        return f"no rule begins with {word!r}"
    return f"no rule or group is called {word!r}"


def settings_of(rule: Rule) -> Iterator[RuleSetting]:
    """The keys that can be set for a rule."""
    if rule.settings is None:
        return

    kind = rule.settings.kind
    schema = msgspec.json.schema(kind)["$defs"][kind.__name__]
    for name, key in schema["properties"].items():
        default = msgspec.json.encode(key["default"]).decode()
        yield RuleSetting(name, default, key["description"])


def _adjusted(rule: Rule, wanted: RuleOptions) -> Rule:
    if not wanted.table:
        return rule
    if rule.settings is None:
        raise msgspec.ValidationError("this rule has no settings of its own")
    return replace(rule, judges=rule.settings.judges(wanted.table))


@cache
def shipped_catalogue() -> Catalogue:
    """The rules that come with this package."""
    return Catalogue(shipped_rules())


def catalogue_with(folders: Iterable[str]) -> Catalogue:
    """The rules of this package and of these directories. Raises UsageError if one of them is not a
    rule."""
    folders = tuple(folders)
    if not folders:
        return shipped_catalogue()
    return Catalogue(shipped_rules(), outside=outside_rules(folders))


def rule_ids() -> tuple[str, ...]:
    """The ids of the rules that come with this package, sorted."""
    return shipped_catalogue().ids


class RuleSet(Generic[S]):
    """Those of some rules that judge in one ``scope``, whose subjects are of the type ``S``. A rule
    is loaded when there is something for it to judge."""

    def __init__(
        self, scope: Scope, rule_ids: Iterable[str], catalogue: Catalogue | None = None
    ) -> None:
        self._scope = scope
        self._catalogue = catalogue or shipped_catalogue()
        listed = map(self._catalogue.listed, rule_ids)
        self._listed = tuple(rule for rule in listed if scope in rule.scopes)
        self._loaded: dict[DescriptionKind, tuple[LoadedRule[S], ...]] = {}

    def __bool__(self) -> bool:
        """True if the set has at least one rule."""
        return bool(self._listed)

    def of(self, form: DescriptionKind = "definition") -> tuple[LoadedRule[S], ...]:
        """The rules; for NICs and domains in a ``form`` that shows little of what libvirt and QEMU
        know, only the rules that declare this form."""
        found = self._loaded.get(form)
        if found is None:
            found = self._loaded[form] = tuple(self._load(form))
        return found

    def _load(self, form: DescriptionKind) -> Iterator[LoadedRule[S]]:
        for entry in self._listed:
            if form == "definition" or form in entry.forms:
                rule = self._catalogue.rule(entry.id)
                for judge in rule.judges:
                    if judge.scope == self._scope:
                        own = cast("Judge[S]", judge)
                        yield LoadedRule(entry.id, rule.name, rule.severity, own)
