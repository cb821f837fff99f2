"""Parts of files in forms that no platform reads."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from vnicaudit.model.report import NotJudged


def alone(data: bytes, path: str) -> Iterator[NotJudged]:
    """See :meth:`vnicaudit.model.file_kind.Unjudged.alone`."""
    from vnicaudit.platforms.unjudged import search

    return search.alone(data, path)


def beside(
    data: bytes, path: str, read: Collection[int], *, manifest: bool, listing: bool
) -> Iterator[NotJudged]:
    """See :meth:`vnicaudit.model.file_kind.Unjudged.beside`."""
    from vnicaudit.platforms.unjudged import search

    return search.beside(data, path, read, manifest=manifest, listing=listing)
