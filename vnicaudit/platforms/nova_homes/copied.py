"""A template that a task of Ansible writes to a nova.conf, where only the task tells that it is
one: read like a nova.conf, each option at its own line of the template.

Source: ansible (2026), ``docs/docsite/rst/playbook_guide/playbook_pathing.rst``: a relative ``src``
is looked for in ``templates`` of the role or beside the task, then beside the task itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from msgspec.structs import replace

from vnicaudit.base.opening import read_regular
from vnicaudit.errors import TargetError
from vnicaudit.knowledge.nova_conf.homes import ANSIBLE
from vnicaudit.model.finding import Location
from vnicaudit.model.nova import NovaConfig
from vnicaudit.model.report import NotJudged, ReadError
from vnicaudit.platforms.nova_conf.read import MAX_BYTES, parsed_text, part_of_config, text_of
from vnicaudit.platforms.nova_conf.recognise import begins_with_section, is_read_by_nova, looks_like


def read_template(
    src: str, where: Location, line: int
) -> Iterator[NovaConfig | ReadError | NotJudged]:
    """The configuration in the template of that name beside the file of tasks ``where``, whose task
    is on ``line``; nothing if it is read by itself."""
    tasks = where.file or ""
    is_beside = os.path.isfile(tasks) and not src.startswith("/")
    for above in ("../templates", "templates", "") if is_beside else ():
        folder = os.path.join(os.path.dirname(tasks), above)
        path = os.path.normpath(os.path.join(folder, src))
        if not os.path.lexists(path):
            continue
        try:
            data = read_regular(path, MAX_BYTES + 1)
            if looks_like(data) or is_read_by_nova(path, data):
                return
            if os.path.realpath(path) != os.path.join(os.path.realpath(folder), src):
                raise OSError("it is elsewhere, or a link leads there")
            if not begins_with_section(data.decode("utf-8", "replace")):
                raise OSError("it begins with no section")
            yield _read(data, replace(where, file=path))
            return
        except OSError:
            break
    message = f"no template {src} beside this task begins like a nova.conf: not judged"
    yield NotJudged(message, tasks or where.target, line)


def _read(data: bytes, where: Location) -> NovaConfig | ReadError:
    file = where.file or ""
    try:
        parsed = parsed_text(text_of(data, file), file)
    except TargetError as error:
        return ReadError(error.message, file, error.line)
    # without columns: nothing is written to a file that cannot be judged again by itself
    options = tuple(replace(one, column=None, value_column=None) for one in parsed.options)
    return part_of_config(replace(parsed, options=options), where, ANSIBLE, parsed.comments)
