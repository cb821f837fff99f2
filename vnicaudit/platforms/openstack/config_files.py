"""Checks the files of openstacksdk's configuration before openstacksdk reads them.

openstacksdk (4.22, ``config/loader.py``) reads the first readable file of each kind, however large
it is and whatever its aliases expand to, and raises Python's own errors for one with a wrong
structure. No content of a file is quoted here, because it contains passwords.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator

from vnicaudit.errors import UsageError
from vnicaudit.platforms.openstack.binding import loader, yaml
from vnicaudit.platforms.openstack.failures import plain
from vnicaudit.text.cloud_names import cloud_and_region

_MOST_BYTES = 512 << 10
_MOST_NODES = 100_000
"""Maximum number of values in a file with its aliases expanded; a cloud has about ten."""
_CLOUDS = "clouds"
_VENDORS = "public-clouds"
_PROFILES = {"profile", "cloud"}
"""Keys that name a vendor's profile (``_expand_vendor_profile``)."""
_MAIN = "OS_CLIENT_CONFIG_FILE"
_SECURE = "OS_CLIENT_SECURE_FILE"


def check(name: str) -> list[str]:
    """Check the files for a cloud or a region of it. Returns which are skipped because this user
    may not read them. Raises UsageError for a file that would be read but cannot be used."""
    left_out: list[str] = []
    said: set[object] = set()
    used = {}
    for variable, paths in ((_MAIN, loader.CONFIG_FILES), (_SECURE, loader.SECURE_FILES)):
        named = os.environ.get(variable)
        path, found = _first_readable(named, paths, left_out)
        if named and os.path.exists(named):  # including a pipe, which only openstacksdk reads
            used[named] = variable
        # for the secure file, openstacksdk treats an empty one as missing
        if path and (found is not None or variable == _MAIN):
            entry = _check_form(path, found, name)
            said |= entry
            if entry:
                used.setdefault(path, "" if path != named else variable)
    if said & _PROFILES:  # otherwise it is not read
        path, found = _first_readable(None, loader.VENDOR_FILES, left_out)
        if path and found is not None:
            of_all = _mapping(path, "it", found).get(_VENDORS, {})
            _mapping(path, f"{_VENDORS}:", of_all)
            used.setdefault(path, "")
    _check_places(used)
    return left_out


def _check_places(used: dict[str, str]) -> None:
    """Check the files that describe a cloud, each with the variable that names it. Raises
    UsageError if one is only in the current folder, and another elsewhere: a checkout, or anybody
    who may write to the folder, would decide where the password from the other is sent."""
    here = os.path.realpath(os.getcwd())
    places = {path: os.path.realpath(os.path.dirname(path)) for path in used}
    if set(places.values()) <= {here}:
        return
    for path, variable in used.items():
        if places[path] == here and not variable:
            other = next(each for each in used if places[each] != here)
            raise UsageError(
                f"{plain(path)} is not used together with {plain(other)}: it is in the current "
                "folder, and could send the password elsewhere; start in another folder, or name "
                f"both files ({_MAIN}, {_SECURE})"
            )


def _first_readable(said: str | None, paths: list[str], left_out: list[str]) -> tuple[str, object]:
    """The first readable file of a kind, and its content; an empty path if there is none. ``said``:
    the file that the user named."""
    for path in [*([said] if said else []), *paths]:
        text = _text(path, left_out, wanted=path == said)
        if text is not None:
            return path, _parsed(path, text)
    return "", None


def _text(path: str, left_out: list[str], *, wanted: bool) -> bytes | None:
    """The bytes of a file; None if openstacksdk skips it (``left_out`` gets the reason if
    permission is denied), or if it can be read only once (a pipe). ``wanted``: the user named it.
    Raises UsageError if a file cannot be read, or is too large."""
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISFIFO(mode) and wanted:
            return None
        if not stat.S_ISREG(mode):
            raise UsageError(f"{plain(path)} is not a file")
        with open(path, "rb") as file:
            text = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = f"{plain(path)} cannot be read: {error.strerror or type(error).__name__}"
        if wanted or not isinstance(error, PermissionError):
            raise UsageError(reason) from None
        left_out.append(reason)
        return None
    if len(text) > _MOST_BYTES:
        raise UsageError(f"{plain(path)} is larger than {_MOST_BYTES >> 10} KiB: no {_CLOUDS}.yaml "
                         "is that large")  # fmt: skip
    return text


def _parsed(path: str, text: bytes) -> object:
    """The parsed content. Raises UsageError if it does not match the file's suffix, or expands to
    far too much."""
    kind = "JSON" if path.endswith("json") else "YAML"
    try:
        if kind == "JSON":
            return json.loads(text)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        if node is not None and _Unfolded().size(node) > _MOST_NODES:
            reason = f"its aliases expand to more than {_MOST_NODES:,} values"
        else:
            return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:
        reason = f"it is not {kind}{_spot(error)}"
    except RecursionError:
        reason = "it is nested too deeply"
    except _ItselfError:
        reason = "an alias in it contains itself"
    raise UsageError(f"{plain(path)} cannot be used: {reason}")


class _ItselfError(Exception):
    """A value that contains itself."""


class _Unfolded:
    """Counts values with aliases expanded."""

    def __init__(self) -> None:
        self._sizes: dict[int, int | None] = {}

    def size(self, node: yaml.Node) -> int:
        """Number of values in one node, including itself. Raises _ItselfError."""
        key = id(node)
        if key in self._sizes:
            known = self._sizes[key]
            if known is None:
                raise _ItselfError
            return known
        self._sizes[key] = None
        size = self._sizes[key] = 1 + sum(map(self.size, _parts(node)))
        return size


def _parts(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        for pair in node.value:
            yield from pair
    elif isinstance(node, yaml.SequenceNode):
        yield from node.value


def _check_form(path: str, found: object, name: str) -> set[object]:
    """The keys of a cloud's entry in a file; empty if the file lacks the cloud. Raises UsageError
    if the entry, or a section around it, is not a mapping."""
    entries = _mapping(path, "it", found).get(_CLOUDS, {})
    of_all = _mapping(path, f"{_CLOUDS}:", entries)
    cloud, _region = cloud_and_region(name, of_all)
    if cloud not in of_all:
        return set()
    entry = _mapping(path, f"{_CLOUDS}: {cloud}:", of_all[cloud])
    if "auth" in entry:
        _mapping(path, f"{_CLOUDS}: {cloud}: auth:", entry["auth"])
    return set(entry)


_KINDS = {type(None): "empty", list: "a list", str: "a string", bool: "a boolean", int: "a number"}


def _mapping(path: str, what: str, found: object) -> dict[object, object]:
    if isinstance(found, dict):
        return found
    kind = _KINDS.get(type(found), "something else")
    raise UsageError(
        f"{plain(path)} cannot be used: {plain(what)} is {kind}, but must be a mapping (key: value)"
    )


def _spot(error: Exception) -> str:
    """Line and column of an error, never its text; empty if unknown."""
    mark = getattr(error, "problem_mark", None)
    if mark is not None:
        return f" at line {mark.line + 1}, column {mark.column + 1}"
    if isinstance(error, json.JSONDecodeError):
        return f" at line {error.lineno}, column {error.colno}"
    return ""
