"""What kind of text a file begins like.

A manual page that quotes a definition is not one: the first thing in it that is no comment tells.
"""

from __future__ import annotations

import re

_HCL = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:\s|#[^\n]*\n|//[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*"
    rb"[A-Za-z_]\w*(?:[ \t]+\"?[\w.-]+\"?){0,2}[ \t]*\{"
)
_YAML = re.compile(rb"---|%YAML|[{\[]|-(?:\s|$)|(?:\"[^\"\n]*\"|'[^'\n]*'|[\w./-]+)\s*:(?:\s|$)")


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
