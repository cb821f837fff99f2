"""Settings of ``vnicaudit.toml`` (or ``[tool.vnicaudit]`` in pyproject.toml), checked.

The file is searched from the current folder upwards; ``--config FILE`` wins. A mistake in it is a
usage error that names file and line: a setting that is silently ignored would hide findings.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from vnicaudit.audit.judging.catalogue import Catalogue, RuleOptions, shipped_catalogue
from vnicaudit.audit.reading.selection import Exclusion
from vnicaudit.audit.settings import OWN, SHARED
from vnicaudit.audit.settings.file import read_settings_file
from vnicaudit.audit.settings.keys import Settings
from vnicaudit.audit.settings.rules import rule_options
from vnicaudit.base.private_files import why_not_own
from vnicaudit.errors import UsageError

if TYPE_CHECKING:
    from vnicaudit.audit.accepting.suppression import Suppression
    from vnicaudit.audit.settings.file import SettingsFile


class LoadedSettings(msgspec.Struct, frozen=True):
    """Settings, their file (None: there is none), and the suppressions in it, each with its
    place."""

    settings: Settings = Settings()
    file: str | None = None
    suppressions: tuple[Suppression, ...] = ()
    rules: dict[str, RuleOptions] = {}
    """The settings of rules, by id."""

    @property
    def baseline(self) -> str | None:
        """The baseline's path, relative to the current folder."""
        if self.settings.baseline is None or self.file is None:
            return None
        return os.path.join(os.path.dirname(self.file), self.settings.baseline)

    @property
    def exclusion(self) -> Exclusion | None:
        """The paths that the settings exclude; None if there are none."""
        if not self.settings.exclude or self.file is None:
            return None
        return Exclusion(self.settings.exclude, os.path.dirname(self.file) or ".")


def load_settings(
    explicit: str | None,
    start: str | os.PathLike[str] = ".",
    trusted: Iterable[str] = (),
    catalogue: Catalogue | None = None,
) -> LoadedSettings:
    """The settings of ``--config`` (``explicit``) or of the nearest file from ``start`` upwards.
    ``trusted``: folders whose settings apply whoever may write them; ``catalogue``: the rules that
    they may name, None: those of this package.

    Raises UsageError with file and line for anything wrong in it.
    """
    source = _settings_in(explicit, explicit=True) if explicit else find(start, trusted)
    if source is None:
        return LoadedSettings()
    # most runs have no settings
    from vnicaudit.audit.settings.checks import checked, suppressions

    catalogue = catalogue or shipped_catalogue()
    settings = checked(source, catalogue)
    options = rule_options(source, settings.rules, catalogue)
    return LoadedSettings(settings, source.file, tuple(suppressions(source, settings)), options)


def _settings_in(path: str, *, explicit: bool) -> SettingsFile | None:
    return read_settings_file(path, explicit=explicit)


def find(start: str | os.PathLike[str], trusted: Iterable[str] = ()) -> SettingsFile | None:
    """The nearest settings from ``start`` upwards, up to the top of the Git repository or the home
    folder, whichever comes first; None if there are none. In one folder vnicaudit.toml wins; a
    pyproject.toml without the table is skipped.

    Raises UsageError for a file that cannot be read, or that another user may write, unless it is
    in one of the ``trusted`` folders or below it.
    """
    for folder in _upwards(os.path.realpath(start)):
        for name in (OWN, SHARED):
            path = os.path.join(folder, name)
            if os.path.isfile(path) or (name == OWN and _is_broken(path)):
                source = _settings_in(path, explicit=False)
                if source is not None:
                    if not _is_within(folder, trusted):
                        _check_own(path)
                    return source
    return None


def _is_broken(path: str) -> bool:
    """True if the name of a settings file leads to something unusable, such as a dangling link or a
    pipe. An audit without these settings would not be the intended one."""
    return os.path.lexists(path) and not os.path.isdir(path)


def _upwards(folder: str) -> Iterator[str]:
    """The folder and those above it, up to the top of a project or of a user's files."""
    home = os.path.realpath(os.path.expanduser("~"))
    yield folder
    while (above := os.path.dirname(folder)) != folder:
        if folder == home or os.path.lexists(os.path.join(folder, ".git")):
            return
        yield above
        folder = above


def _is_within(folder: str, trusted: Iterable[str]) -> bool:
    """True if a folder is one of the trusted ones, or below one, with links resolved."""
    roots = (os.path.realpath(root) for root in trusted if root)
    return any(os.path.commonpath((folder, root)) == root for root in roots)


def _check_own(path: str) -> None:
    """Raises UsageError for settings that another user can change: they can suppress findings, and
    change what is planned."""
    for place in (path, os.path.dirname(path)):
        reason = why_not_own(os.stat(place))
        if reason is not None:
            raise UsageError(
                f"{path}: not used, for {'it' if place == path else 'its folder'} {reason}; name "
                "it with --config, or its folder with --trust-settings, if it is to hold, or "
                "correct owner and mode"
            )
