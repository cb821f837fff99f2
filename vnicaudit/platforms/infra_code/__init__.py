"""Images, flavors and guests described in files in Git: shell, Ansible, Heat, Terraform.

Nothing is executed and nothing is rendered: a value that depends on a variable or a template is
kept and marked as not certain.

This module recognises files; whatever reads them is imported on first use.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.file_kind import Content, FileKind, Item
from vnicaudit.model.finding import AcceptingComment


def _looks_like(head: bytes) -> bool:
    from vnicaudit.platforms.infra_code.recognise import looks_like

    return looks_like(head)


def _read_content(content: Content) -> Iterator[Item]:
    from vnicaudit.platforms.infra_code.recognise import read

    yield from read(content.data, target=content.target, file=content.path)


def _comments(content: Content) -> tuple[AcceptingComment, ...]:
    from vnicaudit.platforms.infra_code.recognise import code_comments

    entries = code_comments(content.data, content.path)
    return tuple(AcceptingComment(content.path, *one) for one in entries)


INFRA_CODE = FileKind(
    "image or flavor definition",
    "image, flavor or guest of libvirt",
    "code",
    _looks_like,
    _read_content,
    comments=_comments,
)
