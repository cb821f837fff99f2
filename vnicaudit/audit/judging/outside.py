"""Rules from outside this package: files in a directory that the user names, and packages that are
installed with an entry point in the group ``vnicaudit.rules``.

Such a rule is code that runs with the user's rights. So a directory is loaded where the command
line (or the user's environment) names it, never because a file says so; where nobody else may
write to it; and where it is not among what is audited.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Iterable, Iterator
from types import ModuleType

import msgspec

from vnicaudit.audit.judging.rule_files import (
    ENTRY_POINTS,
    ListedRule,
    listed,
    rule_in,
    shipped_rules,
)
from vnicaudit.base.opening import as_usage_error, open_regular
from vnicaudit.base.ownership import why_not_own
from vnicaudit.errors import UsageError

OPTION = "--rules-dir"
MAX_BYTES = 1 << 20
"""Of one rule's file."""

_FILE = re.compile(r"[A-Za-z]{2,16}[0-9]{3}\.py")
_PASSED_OVER = re.compile(r"(_|test_|conftest\.py$|setup\.py$)")
_OURS = ("VNIC", "SUPP")


class OutsideRule(msgspec.Struct, frozen=True):
    """A rule that is loaded: those of whom nobody keeps an index are asked themselves."""

    listed: ListedRule
    module: ModuleType

    @property
    def id(self) -> str:
        """The id of the rule."""
        return self.listed.id


def outside_rules(
    folders: Iterable[str], packages: Iterable[str] = (), audited: Iterable[str] = ()
) -> tuple[OutsideRule, ...]:
    """The rules of the packages in ``packages`` (folders of ``sys.path``), then those of the
    directories ``folders``, each ordered by id. Packages in what is ``audited`` are passed over.
    Raises UsageError for what is no rule, or may not be one."""
    found: dict[str, OutsideRule] = {}
    names = {name: rule.id for rule in shipped_rules() for name in rule.names}
    for module, rule_id in (*_installed(packages, audited), *_in_folders(folders)):
        one = OutsideRule(listed(rule_id, rule_in(module)), module)
        file = module.__file__ or module.__name__
        if rule_id in found:
            other = found[rule_id].module.__file__
            raise UsageError(f"{file}: rule {rule_id} already exists, in {other}")
        for name in one.listed.names:
            if name in names:
                raise UsageError(f"{file}: name: {name!r} is already the name of {names[name]}")
        names.update(dict.fromkeys(one.listed.names, rule_id))
        found[rule_id] = one
    return tuple(found[rule_id] for rule_id in sorted(found))


def refuse_audited(folders: Iterable[str], targets: Iterable[str]) -> None:
    """Raises UsageError for a directory of rules that lies in a folder which is audited, or that
    holds a file which is: whoever writes what is audited would say what runs here."""
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
    """The audited folder that a folder is, or lies in; of a file that is audited, the folder that
    it lies in, and none below that."""
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
    """The folder that a name of a file is in, and the one that the file itself is in."""
    return os.path.realpath(os.path.dirname(file) or "."), os.path.dirname(os.path.realpath(file))


def rule_files(folder: str) -> list[str]:
    """The files of rules in a directory, ordered. Raises UsageError where it cannot be read, or
    has a Python file that is called like no rule."""
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
    """The id of the rule in a file. Raises UsageError for one that is not anybody's to take."""
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
    """Raises UsageError for a directory that somebody else decides on, or one above it."""
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
    """The module of a file. Compiled from what was opened: nothing that is cached beside it is
    taken for it. Raises UsageError."""
    with as_usage_error(path), open_regular(os.path.realpath(path), null=False) as stream:
        _refuse(path, os.fstat(stream.fileno()))
        source = stream.read(MAX_BYTES + 1)
    if len(source) > MAX_BYTES:
        raise UsageError(f"{path}: larger than {MAX_BYTES >> 20} MiB: not a rule")
    module = ModuleType(f"vnicaudit_rules_from_outside.{id_of(path).lower()}")
    module.__file__ = path
    sys.modules[module.__name__] = module  # where the types of its records are looked up
    try:
        exec(compile(source, path, "exec"), module.__dict__)  # noqa: S102  the user's own, see above
    except Exception as error:  # an edge: somebody's rule does not load
        raise UsageError(f"{path}: cannot be loaded: {type(error).__name__}: {error}") from None
    return module


def _installed(packages: Iterable[str], audited: Iterable[str]) -> Iterator[tuple[ModuleType, str]]:
    """The rules of packages that are installed in these folders, and not in what is audited. Where
    this Python has its own packages, everything that runs is from there, this program too."""
    audited, own = tuple(audited), os.path.realpath(sys.prefix)
    folders = [
        each
        for each in packages
        if _is_in(os.path.realpath(each), own) or _audited_root(each, audited) is None
    ]
    if not folders:
        return
    from importlib.metadata import distributions

    entries = {
        (entry.name, entry.value): entry
        for package in distributions(path=folders)
        for entry in package.entry_points
        if entry.group == ENTRY_POINTS
    }
    for _name, entry in sorted(entries.items()):
        try:
            package = entry.load()
            for folder in package.__path__:
                for name in filter(_FILE.fullmatch, sorted(os.listdir(folder))):
                    module = f"{package.__name__}.{name.removesuffix('.py')}"
                    yield importlib.import_module(module), id_of(os.path.join(folder, name))
        except UsageError:
            raise
        except Exception as error:  # an edge: somebody's package of rules does not load
            raise UsageError(
                f"entry point {entry.name} = {entry.value} ({ENTRY_POINTS}) cannot be loaded: "
                f"{type(error).__name__}: {error}"
            ) from None
