"""Recognise the kind of a text by its beginning.

A manual page that quotes a definition is not a definition: the first thing that is not a comment
decides.
"""

from __future__ import annotations

import re

_HCL = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:\s|#[^\n]*\n|//[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*"
    rb"[A-Za-z_]\w*(?:[ \t]+\"?[\w.-]+\"?){0,2}[ \t]*\{"
)
_YAML = re.compile(rb"---|%YAML|[{\[]|-(?:\s|$)|(?:\"[^\"\n]*\"|'[^'\n]*'|[\w./-]+)\s*:(?:\s|$)")

_SHEBANG = re.compile(rb"#!\s*\S*/(?:env\s+(?:-S\s+)?)?(?:ba|da|k|z)?sh\b")
_FIRST_WORDS = re.compile(
    r"(?:openstack|glance|nova|set|source|\.|export|function|if|for|while|local|readonly|declare|cd"
    r"|wget|curl|mkdir|sudo|true|trap)(?:\s|$)|\[\[? |[A-Za-z_]\w*=|[A-Za-z_]\w*\s*\(\)"
)


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


def quotes_others(head: bytes) -> bool:
    """Markdown with fenced code."""
    return b"\n```" in head or head.startswith(b"```")


def is_script(head: bytes) -> bool:
    """True if the first line names a shell, or the first command is typical of a script."""
    return _SHEBANG.match(head) is not None or _begins_like_a_script(head)


def _begins_like_a_script(head: bytes) -> bool:
    for line in head.decode("utf-8-sig", "replace").splitlines():
        text = line.strip()
        if text and not text.startswith("#"):
            return _FIRST_WORDS.match(text) is not None
    return False


def is_code(head: bytes) -> bool:
    """A script, or HCL: a manifest inside it is only a string."""
    return is_script(head) or like_hcl(head)
