"""Files of other programs from which nova.conf is written: variables of deployment tools,
manifests, scripts.

Each is read as sections with options, like nova.conf itself
(:class:`vnicaudit.platforms.nova_conf.read.OptionCollector`). Such a file is only a part of a
configuration: others may set more, so a home's configuration is never complete.

This module recognises files; the reader of a form is imported when a file has that form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from vnicaudit.model.file_kind import Content, FileKind, Item

_FORMS: dict[str, tuple[tuple[bytes, ...], Callable[[bytes], bool]]] = {}
"""Form -> words of which one is in each such file, and what decides."""


def _forms_of(head: bytes) -> list[str]:
    """The forms of a file; it may have parts of several."""
    return [
        name
        for name, (words, is_one) in _FORMS.items()
        if any(word in head for word in words) and is_one(head)
    ]


def looks_like(head: bytes) -> bool:
    """True if a file that begins with ``head`` sets Nova's options in one of these forms."""
    return bool(_forms_of(head))


def _read_content(content: Content) -> Iterator[Item]:
    for name in _forms_of(content.data):
        yield from _reader(name)(content)


def _reader(name: str) -> Callable[[Content], Iterator[Item]]:
    raise KeyError(name)


NOVA_HOMES = FileKind(
    "Nova options of a deployment tool",
    "option of Nova",
    "code",
    looks_like,
    _read_content,
)
