"""Comments in infrastructure code that accept findings.

Comments in shell scripts are ignored, because they cannot be told apart from texts and input for
other programs.
"""

from __future__ import annotations

from codecs import BOM_UTF8

from vnicaudit.platforms.infra_code import terraform
from vnicaudit.platforms.infra_code.hcl import MAX_LENGTH, UnexpectedError, without_texts
from vnicaudit.text.beginning import is_script, like_hcl, like_yaml
from vnicaudit.text.comment_walk import CommentEntry, accepting_comments
from vnicaudit.text.yaml_nodes import yaml_comments


def code_comments(data: bytes, file: str) -> tuple[CommentEntry, ...]:
    """The comments of a file that accept findings; empty if it cannot be read."""
    data = data.removeprefix(BOM_UTF8)
    if like_hcl(data):
        is_read = terraform.looks_like(data)
        return _hcl_comments(data) if is_read else ()
    return () if is_script(data) or not like_yaml(data) else yaml_comments(data, file)


def _hcl_comments(data: bytes) -> tuple[CommentEntry, ...]:
    text = data.decode("utf-8", "replace")
    if len(text) > MAX_LENGTH:
        return ()
    try:
        return accepting_comments(without_texts(text.replace("\r\n", "\n")), "code")
    except UnexpectedError:  # the reader of the file reports it
        return ()
