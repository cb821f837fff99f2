"""Messages of libxml2 about broken XML, without the secrets that they may quote.

The messages name elements, attributes and entities. If quotes or brackets are broken, such a name
may be a piece of a password (``p&ssword;``). So a name is shown only if it is that of a tag or an
attribute in the text with its secrets masked.
"""

from __future__ import annotations

import re

from vnicaudit.text.secrets import STARS

_QUOTING = re.compile(
    r"(?P<before>ending tag mismatch: |of Start Tag |of data in tag |Entity '|Namespace prefix "
    r"|for attribute |Attribute )(?P<one>[^\s']+)"
    r"(?P<middle>(?: line \d+ and | on | for )(?P<two>\S+))?"
)
_ENTITY = "Entity '"
_LARGE = 1 << 20
"""For larger texts no name is shown, because masking them takes longer than reading them."""


def complaint(message: str, data: bytes) -> str:
    """The parser's message about ``data``."""
    found = _QUOTING.search(message)
    if found is None:
        return message
    from vnicaudit.text.secrets import masked  # slow to load; only for broken files

    text = "" if len(data) > _LARGE else masked(data.decode("latin-1"))
    names = [name for name in (found["one"], found["two"]) if name]
    if found["before"] == _ENTITY:
        text = ""
    for name in names:
        if not _stands_in(name, text):
            message = message.replace(name, STARS)
    return message


def _stands_in(name: str, text: str) -> bool:
    """True if ``name`` is a tag or an attribute in the text."""
    return re.search(rf"<{re.escape(name)}[\s/>]|\b{re.escape(name)}\s*=", text) is not None
