"""Which targets, hosts and files are read."""

from __future__ import annotations

import os
import subprocess
from fnmatch import fnmatchcase

import msgspec

from vnicaudit.base.files import BACKUP, BEING_WRITTEN, is_run_folder
from vnicaudit.errors import UsageError
from vnicaudit.model.fleet import LiveOptions

# Selection of the files of targets: all, or without excluded ones, or only those that changed.


ALWAYS_EXCLUDED = (".git", ".hg", ".svn")
"""Folders of version control systems."""


class Exclusion(msgspec.Struct, frozen=True):
    """Shell patterns of files and folders. A pattern without a slash is compared with the last part
    of a path, one with a slash with the path relative to ``base`` (a folder)."""

    patterns: tuple[str, ...] = ()
    base: str = "."

    def has(self, path: str) -> bool:
        """True for a file or folder that is itself excluded."""
        place = os.path.abspath(path)
        seen = os.path.relpath(place, os.path.abspath(self.base))
        return any(_excludes(pattern, seen, place) for pattern in self.patterns)

    def reaches(self, path: str) -> bool:
        """True if a file, or a folder above it (up to ``base``), is excluded."""
        place, top = os.path.abspath(path), os.path.abspath(self.base)
        while place not in (top, "/"):
            if self.has(place):
                return True
            place = os.path.dirname(place)
        return False


class Changed(msgspec.Struct, frozen=True):
    """Changes in a Git repository: ``files``, and ``folders`` of which everything counts as changed
    (submodules, repositories inside the repository; with a slash at the end). All are below
    ``top``, and spelled as in :func:`places`."""

    top: str
    files: frozenset[str] = frozenset()
    folders: tuple[str, ...] = ()

    def has(self, path: str) -> bool:
        """True if a file, relative to the current folder, is among the changed ones."""
        return any(place in self.files or place.startswith(self.folders) for place in places(path))

    def covers(self, path: str) -> bool:
        """True for a path inside the repository."""
        top = self.top.rstrip("/") + "/"
        return any(f"{place}/".startswith(top) for place in places(path))


class Selection(msgspec.Struct, frozen=True):
    """``changed`` None: files count whether they changed or not. ``force_exclude``: also exclude
    files that the user named; ``skip_unrecognised``: ignore named files of unknown type, as in a
    folder."""

    exclusions: tuple[Exclusion, ...] = ()
    changed: Changed | None = None
    force_exclude: bool = False
    skip_unrecognised: bool = False

    def leaves_out(self, path: str) -> bool:
        """True for a file or folder, found in a folder, that is not read."""
        name = os.path.basename(path)
        if name in ALWAYS_EXCLUDED or name.startswith(BEING_WRITTEN) or is_backup(name):
            return True
        return is_run_folder(path) or any(exclusion.has(path) for exclusion in self.exclusions)

    def wants(self, path: str, *, named: bool) -> bool:
        """True if a file is to be read. ``named``: the user named this very file; if it is missing,
        it is still wanted, so that the error is reported."""
        if named and self.force_exclude and any(e.reaches(path) for e in self.exclusions):
            return False
        if self.changed is None or (named and not os.path.lexists(path)):
            return True
        return self.changed.has(path)

    def minds(self, path: str) -> bool:
        """True if an unreachable entry of a folder matters: a folder always does (its contents are
        unknown), a dangling link if its file would be read."""
        return not os.path.islink(path) or self.wants(path, named=False)


def is_backup(name: str) -> bool:
    """True for the name of a copy that ``--fix --backup`` made."""
    return name.rstrip("0123456789").endswith(BACKUP)


def places(path: str) -> tuple[str, str]:
    """The places of a path, with links above its last part resolved: the path itself and, if it is
    a link, its destination."""
    folder, name = os.path.split(os.path.abspath(path))
    return os.path.join(os.path.realpath(folder), name), os.path.realpath(path)


def _excludes(pattern: str, seen: str, place: str) -> bool:
    pattern = pattern.removeprefix("./").rstrip("/")
    if "/" not in pattern:
        return fnmatchcase(os.path.basename(place), pattern)
    path = place if pattern.startswith("/") else seen
    # ``**/`` also matches no folder at all
    return fnmatchcase(path, pattern) or fnmatchcase(path, pattern.replace("**/", ""))


# Files that differ from a revision of the Git repository around the current folder.
#
# git is run with a list of arguments, never through a shell. It changes nothing (except that ``git
# diff`` may update the times of files in the index) and runs no program that the repository names.
# The rules are documented in git-diff(1), git-ls-files(1) and git-merge-base(1).


_NO_PROGRAMS = (
    "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.pager=cat",
    "-c", "protocol.allow=never",
)  # fmt: skip
"""A repository's own settings may name programs: a file system monitor, hooks, a pager, a helper
that fetches missing objects. Listing differences needs none of them (git-config(1))."""
_FILTER = r"^filter\..*\.(clean|smudge|process|required)$"
_QUIET = {
    "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1",
}  # fmt: skip
"""git asks nobody, fetches nothing, and writes the index only if that cannot be avoided."""
_PROGRAMS = ("GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_ASKPASS", "GIT_SSH", "GIT_SSH_COMMAND")
_TRUST = (
    " (it belongs to another user: if you trust it, run git config --global --add safe.directory "
    "FOLDER)"
)
_MODULE = "160000 "
"""The mode of a submodule in the index. git would run in it with the submodule's own settings to
see what changed: instead, all of it counts as changed."""


def changed_since(revision: str, folder: str = ".") -> Changed:
    """Files and folders of the working tree that differ from ``revision``, in the repository of
    ``folder``: changed, added and renamed files, staged or not, and untracked files that are not
    ignored. The comparison is with the merge base of ``revision`` and HEAD, so that later commits
    of ``revision`` are not mistaken for changes. Deleted files are left out.

    Raises UsageError: no git, no repository, no such revision, nothing in common with it.
    """
    # -C top: ls-files lists only what is below the folder it runs in
    top = _git(folder, "rev-parse", "--show-toplevel").rstrip("\n")
    base = _merge_base(top, revision)
    differing = _git(
        top, *_no_filters(top), "diff", "--name-only", "-z", "--no-renames", "--no-relative",
        "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "--diff-filter=d",
        base, "--",
    )  # fmt: skip
    untracked = _git(top, "ls-files", "--others", "--exclude-standard", "-z")
    names = [name for name in f"{differing}{untracked}".split("\0") if name]
    names += _submodules(top)
    found = {place for name in names for place in places(os.path.join(top, name.rstrip("/")))}
    folders = {place for place in found if os.path.isdir(place)}
    return Changed(
        os.path.realpath(top),
        frozenset(found - folders),
        tuple(sorted(f"{place}/" for place in folders)),
    )


def _no_filters(top: str) -> list[str]:
    """Options that switch off every configured filter, so that files are compared as they are. A
    file that a filter would have made equal counts as changed, at the cost of an audit of it."""
    result = _run(top, "config", "--name-only", "-z", "--get-regexp", _FILTER)
    keys = os.fsdecode(result.stdout).split("\0") if result.returncode == 0 else ()
    options = []
    for key in filter(None, keys):
        if "=" in key:  # -c could not name such a filter
            raise UsageError(f"--changed-since: git: the filter {key!r} cannot be switched off")
        options += ["-c", f"{key}={'false' if key.endswith('.required') else ''}"]
    return options


def _submodules(top: str) -> list[str]:
    """The folders of the repository's submodules."""
    staged = _git(top, "ls-files", "--stage", "-z").split("\0")
    return [line.partition("\t")[2] for line in staged if line.startswith(_MODULE)]


def _merge_base(top: str, revision: str) -> str:
    """The commit to compare with."""
    commit = _commit(top, revision)
    head = _commit(top, "HEAD")
    if commit is None or head is None:
        what = repr(revision) if commit is None else "HEAD"
        raise UsageError(f"--changed-since: {what} is not a commit in {top}{_shallow(top)}")
    result = _run(top, "merge-base", commit, head)
    if result.returncode != 0:
        raise UsageError(
            f"--changed-since: {revision!r} and HEAD have no commit in common{_shallow(top)}"
        )
    return result.stdout.decode().split()[0]


def _commit(top: str, revision: str) -> str | None:
    """The id of a commit; None if there is none of that name. A name that looks like an option of
    git is refused: no revision begins with a dash (git-check-ref-format(1))."""
    if revision.startswith("-") or not revision or "\0" in revision:
        return None
    named = _id(top, revision)
    # resolved separately: ``:/some text`` takes all that follows as text
    return None if named is None else _id(top, f"{named}^{{commit}}")


def _id(top: str, name: str) -> str | None:
    """The id of the object with this name; None also for a name of several objects (``^main``,
    ``a..b``)."""
    result = _run(top, "rev-parse", "--verify", "--quiet", name)
    text = result.stdout.decode("ascii", "replace").strip()
    return text if result.returncode == 0 and text.isalnum() else None


def _shallow(top: str) -> str:
    """Advice for a shallow clone, such as build servers make, to end a message; empty for a full
    clone."""
    if _git(top, "rev-parse", "--is-shallow-repository").strip() != "true":
        return ""
    return "; this is a shallow clone: fetch its whole history (git fetch --unshallow)"


def _git(folder: str, *arguments: str) -> str:
    """Output of a git command, decoded like file names. Raises UsageError with git's own
    message."""
    result = _run(folder, *arguments)
    if result.returncode != 0:
        said = os.fsdecode(result.stderr).strip().split("\n")[0].removeprefix("fatal: ")
        said = said or f"exit code {result.returncode}"
        trust = _TRUST if "dubious ownership" in said else ""
        raise UsageError(f"--changed-since: git: {said}{trust}")
    return os.fsdecode(result.stdout)


def _run(folder: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            ["git", *_NO_PROGRAMS, "-C", folder, *arguments],
            env={k: v for k, v in os.environ.items() if k not in _PROGRAMS} | _QUIET,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except OSError as error:
        raise UsageError(f"--changed-since needs git: {error.strerror}") from None


# How a run reads its targets, and which servers of clouds it selects.


class ServerFilter(msgspec.Struct, frozen=True):
    """The selected servers: for each kind with values, one of these values. Names or ids."""

    project: tuple[str, ...] = ()
    host: tuple[str, ...] = ()
    zone: tuple[str, ...] = ()
    aggregate: tuple[str, ...] = ()
    image: tuple[str, ...] = ()

    @property
    def values_by_kind(self) -> dict[str, tuple[str, ...]]:
        """Kind -> values, for the kinds that have some."""
        found: dict[str, tuple[str, ...]] = msgspec.structs.asdict(self)
        return {kind: values for kind, values in found.items() if values}

    @property
    def options(self) -> tuple[str, ...]:
        """The filter as command-line options, each with its value."""
        found = self.values_by_kind.items()
        return tuple(f"--{kind} {value}" for kind, values in found for value in values)

    def __str__(self) -> str:
        """The options on one line, with commas."""
        return ", ".join(self.options)


class RunOptions(msgspec.Struct, frozen=True):
    """``jobs``: worker processes for files (0: one per core); ``selection``: the selected files;
    ``servers``: the selected servers of clouds. ``nova_config``: files and folders that
    nova-compute reads together, in its order."""

    jobs: int = 0
    live: LiveOptions = LiveOptions()
    servers: ServerFilter = ServerFilter()
    selection: Selection = Selection()
    nova_config: tuple[str, ...] = ()
