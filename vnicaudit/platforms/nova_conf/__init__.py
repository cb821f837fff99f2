"""nova.conf: oslo.config files and folders, and templates of them.

``recognise.py`` distinguishes a Nova configuration from other ini files, and from backup copies of
one, by its content or else by its name and place; ``read.py`` parses one file,
``siblings.py`` adds the files that Nova reads beside it or Kolla Ansible merges,
``write.py`` changes options.

This module recognises files; whatever reads them is imported on first use.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from vnicaudit.model.file_kind import Content, FileKind, Item
from vnicaudit.model.report import NotJudged, PutAside
from vnicaudit.platforms.nova_conf.recognise import is_put_aside, is_read_by_nova, looks_like


def _read_content(content: Content) -> Iterator[Item]:
    if is_put_aside(content.path):
        yield PutAside(content.path)
        return

    from vnicaudit.platforms.nova_conf.siblings import depends, is_others, read_with_siblings

    if is_others(content.path):
        why = "Kolla Ansible does not merge this file into nova.conf: not judged"
        yield NotJudged(why, content.path, 1)
        return
    config, unread = read_with_siblings(content.data, target=content.target, file=content.path)
    yield config
    if unread is not None:
        yield unread
    if depends(content.path):
        why = "the environments in .kayobe-environment are merged below this one: not judged"
        yield NotJudged(why, content.path, 1)


def _has_place(path: str, head: bytes) -> bool:
    """True also for what Kolla Ansible merges into every service's configuration, if it has a
    section of nova-compute and a nova.conf is merged as well."""
    folder, name = os.path.split(path)
    if name != "global.conf" or not (b"[libvirt]" in head or b"[pci]" in head):
        return is_read_by_nova(path, head)

    from vnicaudit.platforms.nova_conf.siblings import merge_order

    return bool(merge_order(path)) and os.path.isfile(os.path.join(folder, "nova.conf"))


def _together(paths: tuple[str, ...], target: str) -> Iterator[Item]:
    from vnicaudit.platforms.nova_conf.siblings import read_together

    return read_together(paths, target)


NOVA_CONF = FileKind(
    "nova.conf",
    "option",
    "ini",
    looks_like,
    _read_content,
    has_place=_has_place,
    together=_together,
)
