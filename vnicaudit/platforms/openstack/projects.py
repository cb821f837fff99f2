"""``GET /v3/projects``: what projects are called.

Source: Keystone 30.0.0, ``api/projects.py`` and ``server/flask/common.py``: in pages where
``list_limit`` or ``limit`` says so, the next of which ``links`` name; older releases cut the list
short. Nothing is judged by a name, so that no failure is an error: a project without a name is
shown by its id.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from vnicaudit.errors import TargetError
from vnicaudit.model.decoding import json_decoder
from vnicaudit.platforms.openstack.calls import CallError, Calls
from vnicaudit.platforms.openstack.failures import plain
from vnicaudit.platforms.openstack.pages import Listing, pages
from vnicaudit.platforms.openstack.refusals import REFUSED

_PAGE = 1000
_LISTING = Listing("identity", "/projects", "projects", _PAGE)
_NAME = 64
"""Characters of a name; Keystone takes no more."""
_NOT_LISTED = REFUSED | {401}
"""Keystone answers 401 where the scope of a token is not one that it lists projects for."""


class Projects:
    """``names``: id -> name. ``reason``: why some may be missing; empty where Keystone has listed
    them."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = {key: plain(name)[:_NAME] for key, name in names.items() if key}
        self.reason = ""

    def name(self, project: str | None) -> str:
        """That of one; empty where it is not known."""
        return self.names.get(project or "", "")


class _Project(msgspec.Struct):
    id: str
    name: str


def read_projects(calls: Calls) -> Projects:
    """Those of the whole cloud, where this user may list them (an admin, or who has a role that an
    operator gave the right to); else the one that he logged in to, which his token names."""
    found = Projects({calls.cloud.project: calls.cloud.project_name})
    try:
        for page in pages(calls, _LISTING, json_decoder(_Project)):
            found.names.update((each.id, plain(each.name)[:_NAME]) for each in page.items)
    except CallError as error:
        found.reason = "this user may not" if error.status in _NOT_LISTED else error.message
    except TargetError as error:
        found.reason = error.message
    return found
