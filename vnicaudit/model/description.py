"""Descriptions that are judged beside domains and hosts: objects that decide which NICs a guest
will get."""

from __future__ import annotations

import msgspec

from vnicaudit.model.accepting import AcceptingComment


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """A configuration of Nova, an image, a flavor or a KubeVirt preference.
    :mod:`vnicaudit.audit.judging.descriptions` defines how each is judged."""

    comments: tuple[AcceptingComment, ...] = ()
    """Comments of its file that accept findings."""

    def first_line(self) -> int | None:
        """The line on which it begins; None: its file describes nothing else."""
        return None
