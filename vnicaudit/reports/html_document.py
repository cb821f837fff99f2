"""The head of every HTML page of vnicaudit: colours, style, and a policy that keeps a browser from
running or loading anything that was not written here."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Template


@cache
def template(name: str) -> str:
    """Contents of a file in ``templates/``."""
    return (files("vnicaudit") / "templates" / name).read_text(encoding="utf-8")


@cache
def stylesheet(*names: str) -> str:
    """The colours of all pages, light and dark, followed by these style sheets."""
    colours = template("page/colours.css").replace("$dark", template("page/dark.css").strip())
    return "\n".join((colours, *map(template, names)))


@cache
def policy(style: str, script: str = "") -> str:
    """The Content-Security-Policy of a page with exactly this style and script: nothing else is
    applied or run, nothing is loaded, and no text becomes markup."""
    parts = ["default-src 'none'", f"style-src {_hash(style)}", "img-src data:"]
    if script:
        parts += [f"script-src {_hash(script)}", "require-trusted-types-for 'script'"]
        parts += ["trusted-types 'none'"]
    return "; ".join((*parts, "base-uri 'none'", "form-action 'none'"))


def head(title: str, style: str, script: str = "") -> str:
    """The document before its body. ``title`` is escaped here."""
    return Template(template("page/head.html")).substitute(
        title=escape(title), policy=policy(style, script), style=style
    )


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
