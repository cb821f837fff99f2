"""The text of a YAML file, and the lines and columns of positions in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from itertools import accumulate

from vnicaudit.errors import TargetError
from vnicaudit.text.yaml_template import Mask, is_opened, without_tags
from vnicaudit.text.yaml_tree import Node

MAX_BYTES = 8 * 1024 * 1024
"""Larger files are refused."""


class YamlSource:
    """The text of a file, and the lines and columns of positions in it.

    ``text`` is the file as written, without a byte order mark; positions are 0-based characters of
    it.
    """

    def __init__(self, data: bytes, file: str) -> None:
        """Raises TargetError if the file is too large or is not UTF-8."""
        if len(data) > MAX_BYTES:
            raise TargetError(f"larger than {MAX_BYTES >> 20} MiB: not read", file=file)
        self.file = file
        if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
            raise TargetError("UTF-16 is not supported; save it as UTF-8", file=file)
        self._mark = 3 if data.startswith(BOM_UTF8) else 0
        try:
            self.text = data[self._mark :].decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start + self._mark) + 1
            raise TargetError("not UTF-8, which YAML must be", file=file, line=line) from None
        self.mask = without_tags(self.text) if is_opened(self.text) else Mask(self.text)
        self.template = self.mask.text is not self.text and self.mask.text != self.text
        self._lines: list[int] = []
        self._bytes: list[int] = []

    def line_column(self, position: int) -> tuple[int, int]:
        """1-based line, and 1-based column in characters."""
        if not self._lines:
            self._lines = [0, *(match.end() for match in re.finditer("\n", self.text))]
        line = bisect_right(self._lines, position)
        return line, position - self._lines[line - 1] + 1

    def byte_offset(self, position: int) -> int:
        """The number of bytes of the file before a position."""
        if self.text.isascii():
            return position + self._mark
        if not self._bytes:
            lines = self.text.split("\n")
            self._bytes = [0, *accumulate(len(line.encode()) + 1 for line in lines)]
        line, column = self.line_column(position)
        before = self.text[position - column + 1 : position]
        return self._bytes[line - 1] + len(before.encode()) + self._mark

    def written(self, node: Node) -> str:
        """The text of a node exactly as in the file, with quotes and template expressions."""
        return self.text[node.start : node.end]
