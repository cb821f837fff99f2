"""Answers to HTTP requests, with their headers."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

HTML = "text/html; charset=utf-8"
PLAIN = "text/plain; charset=utf-8"

_LOCKED = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_PAGE = "frame-ancestors 'none'"
"""The rest of the policy is in the page itself, with the hashes of its script and style."""


class RouteContent(msgspec.Struct, frozen=True):
    """The current content of a route."""

    media_type: str
    body: bytes


class Response(msgspec.Struct, frozen=True):
    """A complete answer."""

    status: int
    content: RouteContent
    more: tuple[tuple[str, str], ...] = ()

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """All headers. They prevent storing, content sniffing, framing and referrers."""
        policy = _PAGE if self.content.media_type == HTML else _LOCKED
        return (
            ("Content-Type", self.content.media_type),
            ("Content-Length", str(len(self.content.body))),
            ("Content-Security-Policy", policy),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cache-Control", "no-store"),
            ("Connection", "close"),
            *self.more,
        )


Route = Callable[[str], RouteContent]
"""Returns the content for an ``Accept`` header. Raises VnicauditError if there is none at the
moment."""


def plain(status: int, text: str, *more: tuple[str, str]) -> Response:
    """An answer with one line of text."""
    return Response(status, RouteContent(PLAIN, f"{text}\n".encode()), more)
