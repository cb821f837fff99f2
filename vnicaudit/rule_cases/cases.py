"""The cases of a rule, read from its YAML file. docs/reference/rule-cases.md describes the keys."""

from __future__ import annotations

import msgspec

from vnicaudit.base.opening import as_usage_error, read_regular
from vnicaudit.errors import UsageError
from vnicaudit.model.decoding import converted

MAX_BYTES = 1 << 24
"""Maximum size of one file of cases."""

Facts = dict[str, object]
"""Fields of a record as they stand in YAML; their names are checked when the record is made."""


class ExpectedFinding(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One finding that must be reported. Fields that are UNSET are not compared."""

    message: str
    severity: str
    confidence: str | msgspec.UnsetType = msgspec.UNSET
    line: int | msgspec.UnsetType | None = msgspec.UNSET
    column: int | msgspec.UnsetType | None = msgspec.UNSET
    file: str | msgspec.UnsetType = msgspec.UNSET
    related: list[str] | msgspec.UnsetType = msgspec.UNSET
    xpath: str | msgspec.UnsetType = msgspec.UNSET
    owner: str | msgspec.UnsetType = msgspec.UNSET
    change: Facts | msgspec.UnsetType | None = msgspec.UNSET
    reason: str | msgspec.UnsetType = msgspec.UNSET
    fix: str | msgspec.UnsetType = msgspec.UNSET
    fixes: list[Facts] | msgspec.UnsetType = msgspec.UNSET
    fix_has: str | list[str] = []
    fix_lacks: str | list[str] = []


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One case as it stands in the file."""

    name: str
    xml: str | None = None
    command: str | None = None
    nova_conf: str | None = None
    manifest: str | None = None
    nova_confs: dict[str, str] = {}
    nova_nodes: dict[str, str] = {}
    nova_release: str | None = None
    image: Facts | None = None
    flavor: Facts | None = None
    server: Facts | None = None
    definition: Facts = {}
    booted: list[Facts] = []
    domain: Facts = {}
    owner: str | None = None
    readiness: str | None = None
    actual: str | None = None
    path: Facts = {}
    host: Facts = {}
    running: Facts | list[Facts | None] = []
    state: Facts | None = None
    staged: list[Facts] = []
    coming: list[str] = []
    uses: list[str] = []
    settings: Facts = {}
    fail: list[ExpectedFinding] = []
    passes: bool = msgspec.field(default=False, name="pass")
    skip: str = ""


def cases_in(path: str) -> list[Case]:
    """The cases of one file. Raises UsageError, which names the key, if the file does not follow
    the format."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    with as_usage_error(path):
        text = read_regular(path, MAX_BYTES)
    try:
        data = YAML(typ="safe", pure=True).load(text.decode())
        found = converted(data, list[Case])
    except (YAMLError, ValueError, RecursionError) as error:  # ValidationError is a ValueError
        raise UsageError(f"{path}: {error}") from None
    for case in found:
        if bool(case.fail) + case.passes + bool(case.skip) != 1:
            raise UsageError(f"{path}: {case.name}: exactly one of fail, pass, skip")
    names = [case.name for case in found]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"{path}: two cases are called {twice!r}")
    return found
