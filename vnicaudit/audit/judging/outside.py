"""Rules from outside this package: files in a directory that the user names.

Such a rule is code that runs with the user's rights. So a directory is loaded only if the command
line (or the user's environment) names it, never because a file does; if nobody else may write to
it; and if it is not among the audited files.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from types import ModuleType

import msgspec

from vnicaudit.audit.judging.rule_files import (
    ListedRule,
    listed,
    rule_in,
    shipped_rules,
)
from vnicaudit.base.files import why_not_own
from vnicaudit.base.opening import as_usage_error, open_regular
from vnicaudit.errors import UsageError

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
