"""Copies of nova.conf made by a package, an editor or an operator, which no service reads.

oslo.config reads the files that it is given, by default ``nova.conf`` and ``nova-compute.conf``,
and those in a ``nova.conf.d`` that end in ``.conf`` and do not begin with a dot (``_ConfigDirOpt``,
measured with 10.7). Source of the names: rpm's and dpkg's conffile handling (``.rpmsave``,
``.rpmnew``, ``.rpmorig``; ``.dpkg-old``, ``.dpkg-dist``, ``.dpkg-new``), ucf(1), patch(1)
(``.orig``), Ansible's ``backup: true`` (``nova.conf.4711.2026-11-22@10:00:00~``).
"""

from __future__ import annotations

import os
import re

FILES = ("nova.conf", "nova-compute.conf")
"""Files that Nova reads by default."""
FOLDERS = ("nova.conf.d", "nova-compute.conf.d")
"""Folders whose *.conf files Nova reads."""

_ASIDE = (
    r"(?i)(?:~"
    r"|[._-](?:bak|backup|bkp|orig|old|prev|previous|save|saved|sav|copy|disabled|off|swp|tmp)\d{0,14}"
    r"|\.(?:new|dist|default|sample|example)"
    r"|\.rpm(?:save|new|orig)|\.dpkg-(?:old|dist|new|bak|tmp|backup)|\.ucf-(?:old|dist|new)"
    r"|\.(?:conf|bak|backup|orig|old|save)[._-]\d[\dT:@._-]{0,40})\Z"
)
_DUPLICATE = (
    r"(?i)Copy(?: \(\d{1,3}\))? of |copy_of_"
    r"|.*(?:[ _]\((?:(?:another |\d{1,3}(?:st|nd|rd|th) )?copy(?: \d{1,3})?|\d{1,3})\)"
    r"|[ ]-[ ]copy(?: \(\d{1,3}\))?|[ ]copy(?: \d{1,3})?)(?:\.conf)?\Z"
)
"""Names that desktops give copies: GNOME ``nova (copy).conf`` and ``nova.conf (copy)``, Windows
``nova - Copy.conf``, macOS ``nova copy.conf``, browsers ``nova (1).conf``."""
_TEMPLATE = r"(?i)\.(?:j2|jinja2?|erb|epp|tmpl|tpl|template|in|mako)\Z"


def is_put_aside(path: str) -> bool:
    """True if Nova ignores a file because of its name; False for templates, which are rendered
    under another name."""
    folder, name = os.path.split(path)
    if name in FILES:
        return False
    if re.search(_TEMPLATE, name) is not None:
        return False  # the rendered file has another name
    if name.startswith(".") or re.search(_ASIDE, name) is not None:
        return True
    if os.path.basename(folder) in FOLDERS:
        return not name.endswith(".conf")
    return re.match(_DUPLICATE, name) is not None
