"""Recognise the kind of a text by its beginning.

A manual page that quotes a definition is not a definition: the first thing that is not a comment
decides.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from functools import cache, cached_property

from vnicaudit.errors import UsageError

PROMPT = r"(?:\[[^\]\n]{0,80}\]|[\w.@:~/+-]{0,80})[$#%>][ \t]+"
"""The prompt of a shell, as copied from a terminal: a pattern."""
FENCES = ("```", "~~~")
"""What begins and ends code in Markdown."""
FENCE = "(?:```|~~~)"
"""The same as a pattern."""
_QUOTES = re.compile(f"^{FENCE}".encode(), re.MULTILINE)
NO_BREAK_SPACE = "\u00a0"
TYPOGRAPHIC_QUOTES = ("\u2018", "\u2019", "\u201c", "\u201d")
"""What chats and word processors write in the place of blanks and quotes."""
_HCL = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:\s|#[^\n]*\n|//[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*"
    rb"[A-Za-z_]\w*(?:[ \t]+\"?[\w.-]+\"?){0,2}[ \t]*\{"
)
_YAML = re.compile(
    rb"---|%YAML|[{\[]|-(?:\s|$)|(?:\"[^\"\n]*\"|'[^'\n]*'|[\w./-]+(?:::[\w./-]+)*)\s*:(?:\s|$)"
)

_SHEBANG = re.compile(rb"#!\s*\S*/(?:env\s+(?:-S\s+)?)?(?:ba|da|k|z)?sh\b")
_FIRST_WORDS = re.compile(
    r"(?:openstack|glance|nova|set|source|\.|export|function|if|for|while|local|readonly|declare|cd"
    r"|qemu-img|qemu-nbd|ovs-vsctl|wget|curl|mkdir|sudo|true|trap|exec|exit|echo|printf|ulimit|modprobe|sysctl|ip|brctl|mount"
    r"|chmod|rm|cp|mv|ln|case|until|unset|umask|sleep|kill|eval)(?:\s|$)|\[\[? |[A-Za-z_]\w*="
    r"|[A-Za-z_]\w*\s*\(\)"
)
_REPORT = re.compile(
    rb"""\{\s*"schema":\s*"vnicaudit\.|<\?xml [^>]*>\s*<testsuites name="vnicaudit\""""
    rb"""|\{\s*"\$schema":\s*"[^"]*",\s*"version":\s*"[\d.]+",\s*"runs":\s*\[\s*\{\s*"tool":\s*\{"""
    rb"""\s*"driver":\s*\{\s*"name":\s*"vnicaudit\""""
    rb"""|\[\s*\{\s*"description":\s*"(?:[^"\\]|\\.){,4000}",\s*"check_name":\s*"VNIC\d"""
    rb"""|<!DOCTYPE html>\s*<html[^>]*>\s*<head>\s*<meta name="generator" content="vnicaudit">"""
    rb"""|## vnicaudit\n|# HELP vnicaudit_|"rule","name","severity",|"domain","uuid","nic","mac","""
    rb"""|.{1,400}?: (?:error|high|medium|low|info) VNIC\d{3} """
    rb"""|(?:[^\n#`]{,200}\n){,5} {,2}(?:error|high|medium|low|info) +VNIC\d{3}  """
)
"""The beginning of a report in each format, a plan or a baseline."""
_LINE = re.compile(r"[^\n]+")
_UNIT = re.compile(r"\[(?:Unit|Service|Install|Socket|Timer|Path|Mount|Slice)\]$")
_BATCH = re.compile(
    r"::|start \"|(?i:@?(?:rem|setlocal|cls)|@(?:echo|set|cd|call|start|title))(?:\s|$)"
    r"|(?i:set [A-Z_]\w*=)"
)
_STARTS_QEMU = re.compile(
    r"(?<![\w.-])(?:qemu-system-[\w.-]+|qemu-kvm|kvm)[\"']?(?:\s+-|\s*[\\^]$)"
)
_ENGLISH = re.compile(
    r"(?:set|if|for|while|until|case|function|export|source|local|mount|kill|sleep|true|trap|exit)\s"
)
"""Words with which a sentence may begin as well."""
_SHELL = re.compile(r"\s[-./$\[(\"']|[=;]|for \w+ in ")


class LineIndex:
    """The lines and columns, from 1, of positions in a text."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self._text))]

    def line_column(self, position: int) -> tuple[int, int]:
        """Line and column of a position."""
        line = bisect_right(self._starts, position)
        return line, position - self._starts[line - 1] + 1


def like_hcl(head: bytes) -> bool:
    """A block: ``resource "a" "b" {``, ``terraform {``."""
    return _HCL.match(head) is not None


def like_yaml(head: bytes) -> bool:
    """A document marker, a list item, a key, or JSON."""
    for line in head.splitlines():
        text = line.lstrip(b"\xef\xbb\xbf").strip()
        if text and not text.startswith((b"#", b"{%", b"{#")):
            return _YAML.match(text) is not None
    return False


def is_own_report(data: bytes) -> bool:
    """A report, a plan or a baseline of this program: what it quotes was judged when it was
    made."""
    return _REPORT.match(data) is not None


def quotes_others(head: bytes) -> bool:
    """Markdown with fenced code."""
    return (b"```" in head or b"~~~" in head) and _QUOTES.search(head) is not None


def is_script(head: bytes) -> bool:
    """True if the first line names a shell, or the first command is typical of a script."""
    if _SHEBANG.match(head) is not None:
        return True
    return _FIRST_WORDS.match(_first_line(head.decode("utf-8-sig", "replace"))) is not None


def is_program(text: str) -> bool:
    """True for a shell script, a systemd unit or a batch file: its lines are run as they are
    written. False if the first line already starts a QEMU, as in a pasted command, and for a
    sentence."""
    if text.startswith("#!"):
        return _SHEBANG.match(text.split("\n", 1)[0].encode()) is not None
    line = _first_line(text.lstrip("\ufeff"))
    if _STARTS_QEMU.search(line) or (_ENGLISH.match(line) and not _SHELL.search(line)):
        return False
    return any(pattern.match(line) for pattern in (_FIRST_WORDS, _UNIT, _BATCH))


def _first_line(text: str) -> str:
    """The first line that is neither empty nor a comment, without blanks around it."""
    for match in _LINE.finditer(text):
        if (line := match.group().strip())[:1] not in ("", "#", ";"):
            return line
    return ""


def is_code(head: bytes) -> bool:
    """A script, or HCL: a manifest inside it is only a string."""
    return is_script(head) or like_hcl(head)


_REMARKS = re.compile(rb"^[ \t]*(?:#|//)[^\n]*", re.MULTILINE)
_NO_BREAK = re.compile(rb"[^\r\n]")


def blanked(text: bytes) -> bytes:
    """Blanks in the place of everything but line breaks."""
    return _NO_BREAK.sub(b" ", text)


def without_remarks(data: bytes) -> bytes:
    """A script, or a text like one, with the comments blanked that have lines of their own."""
    return _REMARKS.sub(lambda remark: blanked(remark.group()), data)


# Parse TOML into plain values.


_MAX_DOTS = 200
"""Maximum number of dots in a line: a key has only a few parts."""
_SYNTAX_LINE = r"\s?\(at line (\d+), column \d+\)|\s?\(at end of document\)"


def toml_values(path: str, text: str) -> dict[str, object]:
    """The values in the text of the file ``path``. Raises UsageError, with the line, if it is not
    valid TOML."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    for number, written in enumerate(text.split("\n"), 1):
        if written.count(".") > _MAX_DOTS:  # the parser's time grows with their square
            raise UsageError(f"{path}:{number}: more than {_MAX_DOTS} dots in one line")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also from int()
        message = str(error)
        found = re.search(_SYNTAX_LINE, message)
        end = text.rstrip("\n").count("\n") + 1
        line = int(found[1]) if found and found[1] else end
        problem = re.sub(_SYNTAX_LINE, "", message)
        raise UsageError(f"{path}:{line}: not valid TOML: {problem}") from None


# Placeholders: texts that stand for a value that is filled in before a file is used.
#
# A text is not a value if it is wholly such a placeholder, or if something in it can only be the
# beginning of one. Names and paths may contain ``$``, ``@``, ``%`` and ``_``, so these characters
# alone prove nothing.


_NAME = r"[A-Za-z_][\w.-]*"
_FORMS = (
    r"\{\{.*\}\}",  # Jinja 2 and Go's text/template (Helm, Packer), Mustache
    r"\{%.*%\}",  # Jinja 2's statements
    r"<%.*%>",  # ERB (Puppet, Chef), EJS, Mako's blocks
    r"%\{.*\}",  # Terraform's directives, Hiera's interpolation, Ruby's format
    r"\$\{.*\}",  # POSIX shell and envsubst, Terraform's templatefile, OpenShift, Maven, Mako
    r"\$\[\[.*\]\]",  # GitLab CI's inputs: $[[ inputs.x ]]
    r"\$\(.*\)",  # make, Kubernetes' $(VAR), a shell's command substitution
    rf"\$\$?{_NAME}",  # POSIX shell, Python's string.Template
    rf"@@?{_NAME}@?@",  # autoconf's config.status, CMake and meson configure_file
    rf"%{_NAME}%",  # cmd.exe's variables, qmake
    r"%\([^()]+\)[#0 +-]*(?:[1-9]\d*)?[sdiru]",  # Python's "%(x)s"
    r"%[sdiu]",  # printf, Python's "%s"
    rf"\{{{_NAME}(?:\[[^\[\]{{}}]*\])?(?:![rsa])?(?::[^{{}}\"']*)?\}}",  # Python's str.format
    r"\(\(\s*[A-Za-z_\"][^()]*\)\)",  # Concourse and BOSH: ((x)), ((a:b.c))
    r"\[\[\s*[A-Za-z_$.][^\[\]\"',]*\]\]",  # Angular's and Vue's other delimiters, confd's
    r"#\{[^{}]*\}#?",  # Azure's Replace Tokens: #{x}#; Ruby, Octopus Deploy: #{x}
    r"<[A-Za-z_][^<>]*>",  # sample files: <X>; oslo.config's generator writes <None>
    r"__[A-Za-z](?:\w*[A-Za-z0-9])?__",  # sed scripts: __X__
)
_FIRST = frozenset("{<$@%([#_")
"""Characters with which every form begins: most values need no further check."""

_OPENERS = ("{{", "{%", "<%", "${", "%{", "$[[", "#{")
_LONGEST = 40


@cache
def _whole_pattern() -> re.Pattern[str]:
    """The pattern of a whole placeholder, compiled when first needed: that takes as long as linting
    a small file."""
    return re.compile("|".join(_FORMS), re.DOTALL)


def is_only_placeholder(text: str) -> bool:
    """True for a value that is nothing but a placeholder, apart from surrounding blanks."""
    text = text.strip()
    return text[:1] in _FIRST and _whole_pattern().fullmatch(text) is not None


def opened(text: str) -> bool:
    """True if a text contains the opening of a placeholder that cannot be part of a name."""
    return any(opener in text for opener in _OPENERS)


def placeholder_text(text: str) -> str:
    """A placeholder for use in a message: on one line, shortened if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
