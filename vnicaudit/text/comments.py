"""Comments that accept findings, in files whose comments begin with ``#``.

``# vnicaudit: suppress VNIC033 the guests of this node need it; until=2027-01-31``

A comment applies to the next line that is neither empty nor a comment; at the top of a file or of a
YAML document, to all of it. In YAML and code it may also be at the end of the line that it is
about; in an INI file that would be part of the value.
"""

from __future__ import annotations

from typing import Literal

MARK = "vnicaudit:"
"""Part of every comment that accepts findings."""
MOST_COMMENTS = 1000
"""Maximum number of comments read from one file."""

Form = Literal["ini", "flags", "yaml", "code"]
"""Syntax of a file. Only YAML has several documents."""
