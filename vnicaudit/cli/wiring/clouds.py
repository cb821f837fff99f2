"""What is configured of clouds, looked at as an audit looks at it before it logs in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vnicaudit.errors import UsageError


def unusable_clouds(names: Sequence[str]) -> Iterator[str]:
    """Why the files cannot be used, or what they say of each of these clouds; nothing where they
    can. Nothing is connected to. Raises MissingExtraError without openstacksdk."""
    from vnicaudit.platforms.openstack.config_files import check

    try:
        unreadable = check("")
    except UsageError as error:
        yield str(error)
        return
    if not names:  # otherwise others were read in their place
        yield from unreadable
    for name in names:
        try:
            check(name)
        except UsageError as error:
            yield str(error)
