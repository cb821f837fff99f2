"""Files that differ from a revision of the Git repository around the current folder.

git is run with a list of arguments, never through a shell. It changes nothing (except that ``git
diff`` may update the times of files in the index) and runs no program that the repository names.
The rules are documented in git-diff(1), git-ls-files(1) and git-merge-base(1).
"""

from __future__ import annotations

import os
import subprocess

from vnicaudit.audit.reading.selection import Changed, places
from vnicaudit.errors import UsageError

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
