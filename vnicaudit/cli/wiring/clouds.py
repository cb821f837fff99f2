"""Checks the configuration of clouds as an audit does before it logs in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vnicaudit.errors import UsageError


def unusable_clouds(names: Sequence[str]) -> Iterator[str]:
    """Problems with the files, or with each of these clouds in them; none if they can be used.
    Nothing is connected to. Raises MissingExtraError without openstacksdk."""
    from vnicaudit.platforms.openstack.config_files import check

    try:
        unreadable = check("")
    except UsageError as error:
        yield str(error)
        return
    if not names:  # if a cloud is named, another file was read instead of these
        yield from unreadable
    for name in names:
        try:
            check(name)
        except UsageError as error:
            yield str(error)
