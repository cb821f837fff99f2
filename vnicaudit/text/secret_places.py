"""File names in messages that look like the name of a secret: ``/etc/passwd: not a domain``."""

from __future__ import annotations

import re

from vnicaudit.text.secret_names import is_secret_name

_FILE = re.compile(
    r"\.(?:xml|json|ya?ml|conf|cnf|cfg|ini|toml|tf|tfvars|hcl|j2|jinja2?|tmpl|tpl|txt|log|sh"
    r"|args|qcow2|img|iso|pem|orig|bak|sarif|csv)$",
    re.IGNORECASE,
)
_POSITION = re.compile(r"[\"']?:[ \t]?\d{1,9}(?::\d{1,9})?(?::(?=[ \t]|$)|$)", re.MULTILINE)
"""``:12:``, ``:12:4:``, ``: 3:``."""
_SENTENCE = re.compile(r"[\"']?:[ \t]{1,9}(?:[A-Za-z][a-z]{0,40}|\d{1,9})[ \t]{1,9}[\w'\"]")
"""A word or a number, followed by another word."""
_PAIR = re.compile(r"[\"']?:[ \t]{1,9}[\"']?(?P<name>[A-Za-z][\w.-]{0,60})[\"']?[ \t]{0,9}[:=]")
_SAID_OF_ONE = re.compile(
    r"[\"']?:[ \t]{1,9}(?:not|no|cannot|could|is|are|has|must|needs|neither|nothing)[ \t]{1,9}\w"
)
"""The beginning of a sentence about the name before it, whatever that is."""


def is_place(text: str, start: int, end: int) -> bool:
    """True if the text from ``start`` to ``end`` of a message is the name of the file that the
    message is about, and not a secret with a value. In doubt it is a secret."""
    name = text[start:end]
    if _SAID_OF_ONE.match(text, end):
        return True
    rooted = name.startswith(("/", "./", "../"))
    if not (rooted or "/" in name or _FILE.search(name[-9:])):
        return False
    if _POSITION.match(text, end):
        return True
    pair = _PAIR.match(text, end)
    if pair is not None and is_secret_name(pair["name"]):
        return True  # the value belongs to the second name
    named = rooted or _FILE.search(name[-9:]) is not None
    return named and _SENTENCE.match(text, end) is not None
