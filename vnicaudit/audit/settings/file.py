"""Read a settings file, and find the line of a key in it."""

from __future__ import annotations

import os
import re
from functools import lru_cache

import msgspec

from vnicaudit.audit.settings import SHARED
from vnicaudit.base.opening import as_usage_error, open_regular
from vnicaudit.errors import UsageError
from vnicaudit.text.beginning import toml_values

MAX_BYTES = 1024 * 1024

_IN_OWN = r"\[\[[ \t]{0,99}suppress[ \t]{0,99}\]\]"
_IN_SHARED = (
    r"\[\[[ \t]{0,99}tool[ \t]{0,99}\.[ \t]{0,99}vnicaudit[ \t]{0,99}\.[ \t]{0,99}suppress"
    r"[ \t]{0,99}\]\]"
)
_INDEX = r"suppress\[(\d+)\](?:\.(.+))?"


class SettingsFile(msgspec.Struct, frozen=True):
    """Settings as they were written: the table, unchecked, its file, and the file's text."""

    table: dict[str, object]
    file: str
    text: str

    def error(self, message: str, path: str) -> UsageError:
        """A usage error with its place: ``path`` is a key, ``suppress[0]`` or a key in that."""
        line = self.line(path)
        return UsageError(f"{self.file}{'' if line is None else f':{line}'}: {message}")

    def error_in(self, table: str, message: str, key: str) -> UsageError:
        """A usage error about a key of a table, with the key's line or else the table's."""
        start = self.line(table)
        if start is None:  # the key may be written as policy.queues = 4
            return self.error(message, f"{table}.{key}")
        line = self._key(key, start + 1, own_table=True) or start
        return UsageError(f"{self.file}:{line}: {message}")

    def line(self, path: str) -> int | None:
        """The 1-based line of a key, or of the table it should be in; None if the text does not
        show it (inline tables)."""
        match = re.match(_INDEX, path)
        if match is None:
            return self._key(path, 1, own_table=not self._shared)
        start = self._table(int(match.group(1)))
        if start is None:
            return self._key("suppress", 1, own_table=not self._shared)
        return self._key(match.group(2) or "", start + 1, own_table=True) or start

    @property
    def _shared(self) -> bool:
        return os.path.basename(self.file) == SHARED

    def _table(self, index: int) -> int | None:
        """The line of the nth ``[[suppress]]``, if the text has as many as the table."""
        lines = _headers(self.text, shared=self._shared)
        tables = self.table.get("suppress", [])
        as_many = isinstance(tables, list) and len(lines) == len(tables)
        return lines[index] if as_many else None

    def _key(self, key: str, start: int, *, own_table: bool) -> int | None:
        """The first line from ``start`` on that assigns ``key`` in the current table. Without
        ``own_table`` the table is yet to begin: ``[tool.vnicaudit]``."""
        assigns = re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*=""")
        inside = own_table
        lines = _lines(self.text)
        for number in range(start, len(lines) + 1):
            line = lines[number - 1]
            if line.lstrip().startswith("["):
                if assigns_table(line, key):
                    return number
                if own_table and start > 1:
                    return None
                inside = (
                    not own_table
                    and re.match(r"\s*\[\s*tool\s*\.\s*vnicaudit\s*\]", line) is not None
                )
            elif key and inside and assigns.match(line):
                return number
        return None


@lru_cache(maxsize=2)
def _lines(text: str) -> list[str]:
    """The lines of the text, cached: each place is looked up separately, and there may be
    thousands."""
    return text.split("\n")


@lru_cache(maxsize=2)
def _headers(text: str, *, shared: bool) -> list[int]:
    lines = (line.lstrip() for line in _lines(text))
    found = (re.match(_IN_SHARED, one) if shared else re.match(_IN_OWN, one) for one in lines)
    return [number for number, match in enumerate(found, 1) if match]


def assigns_table(line: str, key: str) -> bool:
    """True if a line begins the table ``key``: ``[key]``, ``[[key]]``, ``[tool.vnicaudit.key]``."""
    name = line.strip().lstrip("[").partition("]")[0].replace(" ", "")
    return bool(key) and name in (key, f"tool.vnicaudit.{key}")


def read_settings_file(path: str, *, explicit: bool) -> SettingsFile | None:
    """The settings in one file. None for a pyproject.toml without the table, unless the user named
    the file, which is an error. Raises UsageError."""
    text = _text(path)
    shared = os.path.basename(path) == SHARED
    if shared and not explicit and "vnicaudit" not in text:
        return None  # another tool's file: errors in it do not matter here

    table = toml_values(path, text)
    if not shared:
        return SettingsFile(table, path, text)
    tool = table.get("tool", {})
    own = tool.get("vnicaudit") if isinstance(tool, dict) else None
    if isinstance(own, dict):
        return SettingsFile(own, path, text)
    if explicit or own is not None:
        raise UsageError(f"{path}: has no table [tool.vnicaudit]")
    return None


def _text(path: str) -> str:
    with as_usage_error(path), open_regular(path) as stream:
        data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise UsageError(f"{path}: larger than {MAX_BYTES >> 20} MiB: not a settings file")
    try:
        return data.decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}:{line}: not UTF-8") from None
