"""Rules in files: those of this package, and those in directories that the user names.

mypy checks the shipped rules; a rule from outside may be anything, so each is checked when it is
loaded. An error names the file and the field. Such a rule is code that runs with the user's rights.
So a directory is loaded only if the user's environment names it, never because a file does; if
nobody else may write to it; and if it is not among the audited files.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from types import ModuleType
from typing import get_args

import msgspec

import vnicaudit.rules
from vnicaudit.base.files import why_not_own
from vnicaudit.base.opening import as_usage_error, open_regular
from vnicaudit.errors import UsageError
from vnicaudit.model.decoding import json_as
from vnicaudit.model.finding import SEVERITIES, AuditedScope, DescriptionKind, Scope
from vnicaudit.model.rule import Fact, Judge, Rule

_INDEX = "index.json"
_PREFIX, _DIGITS, _SUFFIX = "vnic", 3, ".py"
"""The beginning and the end of a file with a rule; between them is its number."""
_FORMS = get_args(DescriptionKind)
_SCOPES = ("nic", "guest", "link", *get_args(AuditedScope))


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


OPTION = "VNICAUDIT_RULES_DIR"
MAX_BYTES = 1 << 20
"""Maximum size of one rule's file."""

_FILE = re.compile(r"[A-Za-z]{2,16}[0-9]{3}\.py")
_PASSED_OVER = re.compile(r"(_|test_|conftest\.py$|setup\.py$)")
_OURS = ("VNIC", "SUPP")


class OutsideRule(msgspec.Struct, frozen=True):
    """A loaded rule from outside. It has no entry in an index, so its own module is asked for its
    facts."""

    listed: ListedRule
    module: ModuleType

    @property
    def id(self) -> str:
        """The id of the rule."""
        return self.listed.id


def outside_rules(folders: Iterable[str]) -> tuple[OutsideRule, ...]:
    """The rules of these directories, ordered by id. Raises UsageError for a file that is not a
    rule, or may not be one."""
    found: dict[str, OutsideRule] = {}
    names = {rule.name: rule.id for rule in shipped_rules()}
    for module, rule_id in _in_folders(folders):
        one = OutsideRule(listed(rule_id, rule_in(module)), module)
        file = module.__file__ or module.__name__
        if rule_id in found:
            other = found[rule_id].module.__file__
            raise UsageError(f"{file}: rule {rule_id} already exists, in {other}")
        name = one.listed.name
        if name in names:
            raise UsageError(f"{file}: name: {name!r} is already the name of {names[name]}")
        names[name] = rule_id
        found[rule_id] = one
    return tuple(found[rule_id] for rule_id in sorted(found))


def refuse_audited(folders: Iterable[str], targets: Iterable[str]) -> None:
    """Raises UsageError for a directory of rules that lies in an audited folder, or contains an
    audited file: the author of the audited files could run code here."""
    targets = tuple(targets)
    for folder in folders:
        root = _audited_root(folder, targets)
        if root == os.path.realpath(folder) and root not in map(os.path.realpath, targets):
            raise UsageError(
                f"{OPTION} {folder}: a file in it is audited: rules are code, and are not loaded "
                "from there"
            )
        if root is not None:
            raise UsageError(
                f"{OPTION} {folder}: it is in {root}, which is audited: rules are code, and are "
                "not loaded from there"
            )


def _audited_root(folder: str, targets: Iterable[str]) -> str | None:
    """The audited folder that equals or contains a folder; for an audited file only the folder that
    it is in."""
    place = os.path.realpath(folder)
    for target in targets:
        if os.path.isdir(target):
            root = os.path.realpath(target)
            if _is_in(place, root):
                return root
        elif os.path.exists(target) and place in _parents(target):
            return place
    return None


def _is_in(place: str, root: str) -> bool:
    return os.path.commonpath((place, root)) == root


def _parents(file: str) -> tuple[str, str]:
    """The folder of the file's name, and the folder of the file itself, with links resolved."""
    return os.path.realpath(os.path.dirname(file) or "."), os.path.dirname(os.path.realpath(file))


def rule_files(folder: str) -> list[str]:
    """The files of rules in a directory, sorted. Raises UsageError if it cannot be read, or has a
    Python file whose name is not that of a rule."""
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise UsageError(f"{OPTION} {folder}: {error.strerror}") from None
    files = [name for name in names if name.endswith(".py") and not _PASSED_OVER.match(name)]
    for name in files:
        if not _FILE.fullmatch(name):
            path = os.path.join(folder, name)
            raise UsageError(f"{path}: name the file after the rule's id, such as acme001.py")
    return [os.path.join(folder, name) for name in files]


def id_of(path: str) -> str:
    """The id of the rule in a file. Raises UsageError for a reserved id."""
    rule_id = os.path.splitext(os.path.basename(path))[0].upper()
    if rule_id.startswith(_OURS):
        raise UsageError(f"{path}: ids of your own rules must not begin with {' or '.join(_OURS)}")
    return rule_id


def _in_folders(folders: Iterable[str]) -> Iterator[tuple[ModuleType, str]]:
    for folder in folders:
        files = rule_files(folder)
        if not files:
            raise UsageError(
                f"{OPTION} {folder}: there is no rule in it (a file such as acme001.py)"
            )
        _check_own(folder)
        for path in files:
            yield _loaded(path), id_of(path)


def _check_own(folder: str) -> None:
    """Raises UsageError for a directory that another user can change, or can change a parent of."""
    place = os.path.realpath(folder)
    while True:
        _refuse(place, os.stat(place))
        above = os.path.dirname(place)
        if above == place:
            return
        place = above


def _refuse(path: str, status: os.stat_result) -> None:
    reason = why_not_own(status)
    if reason is not None:
        raise UsageError(f"{path}: no rules are loaded from there, because it {reason}")


def _loaded(path: str) -> ModuleType:
    """The module of a file, compiled from the opened file: a cached version beside it is never
    used. Raises UsageError, also for a link into a folder that another user can change."""
    place = os.path.realpath(path)
    if os.path.islink(path):
        _check_own(os.path.dirname(place))
    with as_usage_error(path), open_regular(place, null=False) as stream:
        _refuse(path, os.fstat(stream.fileno()))
        source = stream.read(MAX_BYTES + 1)
    if len(source) > MAX_BYTES:
        raise UsageError(f"{path}: larger than {MAX_BYTES >> 20} MiB: not a rule")
    module = ModuleType(f"vnicaudit_rules_from_outside.{id_of(path).lower()}")
    module.__file__ = path
    sys.modules[module.__name__] = module  # the types of its records are looked up there
    try:
        exec(compile(source, path, "exec"), module.__dict__)  # noqa: S102  the user's own, see above
    except Exception as error:  # an edge: a user's rule cannot be loaded
        raise UsageError(f"{path}: cannot be loaded: {type(error).__name__}: {error}") from None
    return module
