"""nova.conf -> :class:`~vnicaudit.model.nova.NovaConfig`, with the parser Nova itself uses."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

from oslo_config.iniparser import BaseParser, ParseError

from vnicaudit.errors import TargetError
from vnicaudit.model.nova import NovaConfig, NovaOption
from vnicaudit.platforms.nova_conf.template import Line, is_template, plain

MAX_BYTES = 8 * 1024 * 1024
"""Larger files are refused; Nova's complete sample configuration has about half a megabyte."""

_CREDENTIAL = re.compile(r"passw|secret|token|transport_url|connection|credential|_key$")
"""Names of options that can hold a credential: not kept, so that they cannot get out."""


def read_bytes(data: bytes, *, target: str, file: str | None) -> NovaConfig:
    """One file. Raises TargetError, with file and line, where Nova would refuse it; in a template
    what cannot be parsed is passed over."""
    name = file or target
    return NovaConfig(target, name, options_of(data, name))


def options_of(data: bytes, file: str) -> tuple[NovaOption, ...]:
    """The options in one file, in order. Raises TargetError as above."""
    if len(data) > MAX_BYTES:
        raise TargetError(f"larger than {MAX_BYTES >> 20} MiB: not read", file=file)
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    if is_template(text):
        lines, open_ended = plain(text)
    else:
        lines, open_ended = [Line(line, True, False) for line in text.split("\n")], False
    return _Parser(lines, file, certain=not open_ended).options()


class _Parser(BaseParser):
    """oslo.config's parser, which also keeps where each assignment begins."""

    def __init__(self, lines: list[Line], file: str, *, certain: bool) -> None:
        super().__init__()
        self._lines = lines
        self._file = file
        self._certain = certain
        self._section: str | None = None
        self._starts: deque[tuple[int, str | None]] = deque()
        self._options: list[NovaOption] = []

    def options(self) -> tuple[NovaOption, ...]:
        """Parse. Raises TargetError."""
        try:
            self.parse(self._numbered())
        except ParseError as error:
            # the parser's own text quotes the line, which may hold a password
            raise TargetError(
                f"{error.msg}: Nova would not start with it", file=self._file, line=error.lineno
            ) from None
        return tuple(self._options)

    def _numbered(self) -> Iterator[str]:
        for number, line in enumerate(self._lines, 1):
            if line.section_lost:
                self._section = ""
            if line.text.strip() and line.text[0] not in "#;[ \t":
                # noted here: the parser reports an assignment only when the next one begins
                self._starts.append((number, self._section))
            yield line.text

    def new_section(self, section: str) -> None:
        """Groups are compared in lower case, but for DEFAULT (oslo.config)."""
        self._section = section if section == "DEFAULT" else section.lower()

    def assignment(self, key: str, value: list[str]) -> None:
        """One option; a value on several lines is joined as oslo.config joins it."""
        number, section = self._starts.popleft()
        if section is None:
            raise ParseError("Section must be started before assignment", number, "")
        if _CREDENTIAL.search(key) is not None:
            return
        text = "\n".join(value)
        certain = (
            self._certain and section != "" and self._lines[number - 1].certain and "$" not in text
        )
        self._options.append(NovaOption(section, key, text, self._file, number, certain))
