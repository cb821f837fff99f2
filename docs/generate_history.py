"""Write docs/reference/history-schema.md from the views of the history.

python docs/generate_history.py            write the page
python docs/generate_history.py --check    exit 1 if the page differs
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
VIEWS = ROOT / "vnicaudit/history/views.sql"
PAGE = ROOT / "docs/reference/history-schema.md"

_HEAD = """\
# Schema of the history

Query these views. `vnicaudit history sql` prints them for your database, with a read-only URL.
Times are `timestamptz` in PostgreSQL and RFC 3339 text (UTC) in SQLite. [How states are
determined](../explanation/history.md).

```sql
{views}```
"""


def page() -> str:
    """The whole page."""
    return _HEAD.format(views=VIEWS.read_text("utf-8"))


def main(arguments: list[str]) -> int:
    """Write or check the page; returns the exit code: 1 if ``--check`` finds a difference."""
    new = page()
    if arguments != ["--check"]:
        PAGE.write_text(new, "utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text("utf-8") == new:
        return 0
    sys.stderr.write(f"{PAGE.name} differs: run python docs/generate_history.py\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
