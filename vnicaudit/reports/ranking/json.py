"""``vnicaudit.top/1``."""

from __future__ import annotations

import msgspec

from vnicaudit.model.ranking import Ranking
from vnicaudit.reports.encode import encode


def ranking_json(ranking: Ranking) -> str:
    """The document, indented, with a line break at its end."""
    return msgspec.json.format(encode(ranking), indent=1) + "\n"
