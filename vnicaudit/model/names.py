"""Names that commands and sentences about an object can use."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from vnicaudit.model.finding import Severity
from vnicaudit.model.openstack import ServerConfig

NAMELESS = "(no name)"
"""The placeholder for a missing name; a guest may also really have that name."""

STANDARD_INPUT = "standard input"
"""Name of the target and file ``-`` in messages."""

_ID = r"[0-9A-Za-z][0-9A-Za-z-]{0,63}"
"""An id that can be part of a command for copying without quotes, and cannot be taken for an
option: ids come from outside."""


class FixNames(msgspec.Struct, frozen=True, array_like=True):
    """Names that commands and sentences of a fix can use; empty: unknown."""

    target: str = ""
    """The cloud as the user named it, ``openstack:CLOUD``."""
    server_id: str = ""
    image_id: str = ""
    server: ServerConfig | None = None
    """Nova's record of the server, if its cloud was read."""
    manifest_kind: str = ""
    """``VirtualMachine``; empty: it was not read from a manifest."""
    run_strategy: str = ""
    """``Once``: of a VM of KubeVirt whose cluster was read."""
    any_server: bool = False
    """The text is for several servers: ``UUID`` stands for the id of each."""
    any_image: bool = False
    """The text is for several images: ``IMAGE`` stands for the id of each."""

    @property
    def uuid(self) -> str:
        """The server's id for use in a command; ``UUID`` if it is not a valid id."""
        return (
            "UUID" if self.any_server or not re.fullmatch(_ID, self.server_id) else self.server_id
        )

    @property
    def image(self) -> str:
        """The image's id for use in a command; ``IMAGE`` if it is not a valid id."""
        return "IMAGE" if self.any_image or not self.knows_image else self.image_id

    @property
    def knows_image(self) -> bool:
        """True if a command can name the image."""
        return re.fullmatch(_ID, self.image_id) is not None


NO_NAMES = FixNames()


def file_title(file: str) -> str:
    """The file's name in a heading: its path, or ``standard input``."""
    return STANDARD_INPUT if file == "-" else file


# Rules as catalogues and reports list them: the records behind ``vnicaudit.rules/1``.


RULES_SCHEMA: Literal["vnicaudit.rules/1"] = "vnicaudit.rules/1"


class RuleSetting(msgspec.Struct, frozen=True):
    """A setting of a rule in `vnicaudit.toml`."""

    name: str
    default: str
    """Its default, written as in TOML."""
    meaning: str


class RuleInfo(msgspec.Struct, frozen=True):
    """One rule, for catalogues and for SARIF."""

    id: str
    name: str
    severity: Severity
    scope: str
    summary: str
    manual: str
    judges: tuple[str, ...] = ()
    """The scopes it judges, the main one first; ``manifests``: also NICs in KubeVirt manifests;
    ``servers``: also servers of OpenStack, from Nova's records."""
    groups: tuple[str, ...] = ()
    """Words by which it is selected together with others."""
    settings: tuple[RuleSetting, ...] = ()


class RulesReport(msgspec.Struct, frozen=True, kw_only=True):
    """``vnicaudit.rules/1``: the catalogue."""

    schema: Literal["vnicaudit.rules/1"] = RULES_SCHEMA
    rules: tuple[RuleInfo, ...]
