"""Recognise the kind of a text by its beginning.

A manual page that quotes a definition is not a definition: the first thing that is not a comment
decides.
"""

from __future__ import annotations

import re

PROMPT = r"(?:\[[^\]\n]{0,80}\]|[\w.@:~/+-]{0,80})[$#%>][ \t]+"
"""The prompt of a shell, as copied from a terminal: a pattern."""
_HCL = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:\s|#[^\n]*\n|//[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*"
    rb"[A-Za-z_]\w*(?:[ \t]+\"?[\w.-]+\"?){0,2}[ \t]*\{"
)
_YAML = re.compile(rb"---|%YAML|[{\[]|-(?:\s|$)|(?:\"[^\"\n]*\"|'[^'\n]*'|[\w./-]+)\s*:(?:\s|$)")

_SHEBANG = re.compile(rb"#!\s*\S*/(?:env\s+(?:-S\s+)?)?(?:ba|da|k|z)?sh\b")
_FIRST_WORDS = re.compile(
    r"(?:openstack|glance|nova|set|source|\.|export|function|if|for|while|local|readonly|declare|cd"
    r"|qemu-img|qemu-nbd|ovs-vsctl|wget|curl|mkdir|sudo|true|trap|exec|exit|echo|printf|ulimit|modprobe|sysctl|ip|brctl|mount"
    r"|chmod|rm|cp|mv|ln|case|until|unset|umask|sleep|kill|eval)(?:\s|$)|\[\[? |[A-Za-z_]\w*="
    r"|[A-Za-z_]\w*\s*\(\)"
)
_REPORT = re.compile(rb"\"(?:name|schema)\":\s*\"vnicaudit[\"./]")
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
    """A JSON or SARIF report of this program: what it quotes was judged when it was made."""
    return data[:1] == b"{" and _REPORT.search(data[:2048]) is not None


def quotes_others(head: bytes) -> bool:
    """Markdown with fenced code."""
    return b"\n```" in head or head.startswith(b"```")


def is_script(head: bytes) -> bool:
    """True if the first line names a shell, or the first command is typical of a script."""
    return _SHEBANG.match(head) is not None or _begins_like_a_script(head)


def _begins_like_a_script(head: bytes) -> bool:
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
