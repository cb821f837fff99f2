"""Write the JSON Schemas of vnicaudit's files and settings, generated from their records.

``python docs/generate_schemas.py`` writes ``docs/schemas/``; with ``--check`` it writes nothing
and exits 1 if a committed schema is out of date.
"""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from vnicaudit.audit.judging.catalogue import rule_ids, shipped_catalogue
from vnicaudit.audit.settings.keys import RULE, RULES, Settings
from vnicaudit.bench.line_rate import LineRate
from vnicaudit.bench.profiles.keys import ProfileTable
from vnicaudit.cli.diff_compare import ReportDifferences
from vnicaudit.cli.doctor import DoctorReport
from vnicaudit.model.advice import NetworkAdvice
from vnicaudit.model.finding import SEVERITIES
from vnicaudit.model.history import AuditDetails, Drift, HistoryStatus, Trend
from vnicaudit.model.host import HostCpus, HostRecording
from vnicaudit.model.measurement import BenchResult
from vnicaudit.model.names import RulesReport
from vnicaudit.model.plan import Plan
from vnicaudit.model.ranking import Ranking
from vnicaudit.model.report import Explanation, NicsReport, Report
from vnicaudit.model.scenario import Scenario
from vnicaudit.reports.bench.profiles import ProfilesReport
from vnicaudit.reports.inventory import InventoryReport
from vnicaudit.reports.notices import Notice
from vnicaudit.reports.runs import DryRunReport, RunsReport

FOLDER = Path(__file__).parent / "schemas"
RECORDS: dict[str, type[msgspec.Struct]] = {
    "vnicaudit.report-1.json": Report,
    "vnicaudit.nics-1.json": NicsReport,
    "vnicaudit.explain-1.json": Explanation,
    "vnicaudit.rules-1.json": RulesReport,
    "vnicaudit.plan-1.json": Plan,
    "vnicaudit.runs-1.json": RunsReport,
    "vnicaudit.notice-1.json": Notice,
    "vnicaudit.dry-run-1.json": DryRunReport,
    "vnicaudit.bench-1.json": BenchResult,
    "vnicaudit.profiles-1.json": ProfilesReport,
    "vnicaudit.line-rate-1.json": LineRate,
    "vnicaudit.inventory-1.json": InventoryReport,
    "vnicaudit.host-facts-1.json": HostRecording,
    "vnicaudit.host-cpus-1.json": HostCpus,
    "vnicaudit.history-1.json": HistoryStatus,
    "vnicaudit.history-audit-1.json": AuditDetails,
    "vnicaudit.trend-1.json": Trend,
    "vnicaudit.drift-1.json": Drift,
    "vnicaudit.top-1.json": Ranking,
    "vnicaudit.diff-1.json": ReportDifferences,
    "vnicaudit.doctor-1.json": DoctorReport,
    "vnicaudit.advice-1.json": NetworkAdvice,
}
_REFERENCES = {RULE: "#/definitions/Rule", RULES: "#/definitions/Rules"}
_OUTSIDE = "^(?!.*NIC)[A-Z]{2,16}[0-9]{1,3}$"
"""An id of a rule from outside, or its beginning. Which there are no schema can know; what has NIC
in it was meant for one of ours."""
SETTINGS = "vnicaudit.toml.json"
SHARED_SETTINGS = "vnicaudit.pyproject.json"
PROFILE = "vnicaudit.profile.json"
SCENARIO = "vnicaudit.scenario.json"


_PUBLISHED = {
    "ArmSummary": "Summary",
}
"""Record -> its name in the schemas, which code is generated from: it stays when ours changes."""


def text_of(record: type[msgspec.Struct]) -> str:
    """The schema of one record as the file has it (JSON Schema 2020-12, definitions in $defs)."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_published(_cleaned(msgspec.json.schema(record))),
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _published(node: Any) -> Any:
    """The schema with records under their published names."""
    if isinstance(node, list):
        return [_published(item) for item in node]
    if isinstance(node, dict):
        return {_PUBLISHED.get(key, key): _published(value) for key, value in node.items()}
    if not isinstance(node, str):
        return node
    place, slash, name = node.rpartition("/")
    return f"{place}{slash}{_PUBLISHED.get(name, name)}"


def _cleaned(node: Any) -> Any:
    """The same with docstrings as Python 3.13 keeps them (older ones leave their indentation), and
    without the list of a table's keys, which msgspec writes from 0.23 on."""
    if isinstance(node, list):
        return [_cleaned(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: inspect.cleandoc(value)
        if key == "description" and isinstance(value, str)
        else _cleaned(value)
        for key, value in node.items()
        if not (key == "propertyNames" and "enum" in value)
    }


def settings_text(*, shared: bool) -> str:
    """The schema of vnicaudit.toml or, ``shared``, of a pyproject.toml with ``[tool.vnicaudit]``
    in it (of the rest it says nothing). JSON Schema draft 7, which editors of TOML know."""
    _, parts = msgspec.json.schema_components([Settings], ref_template="#/definitions/{name}")
    definitions = {name: _for_toml(_cleaned(part)) for name, part in sorted(parts.items())}
    definitions["Rule"] = _rule()
    definitions["Rules"] = _rules()
    definitions["RuleTable"] = _plain_table()
    definitions["Settings"]["properties"]["rules"] |= _tables()
    whole: dict[str, Any] = {"$schema": "http://json-schema.org/draft-07/schema#"}
    if shared:
        tool = {"properties": {"vnicaudit": {"$ref": "#/definitions/Settings"}}}
        whole |= {"title": "pyproject.toml", "properties": {"tool": tool}}
    else:
        whole |= {**definitions.pop("Settings"), "title": "vnicaudit.toml"}
    return json.dumps({**whole, "definitions": definitions}, indent=2, ensure_ascii=False) + "\n"


def table_text(record: type[msgspec.Struct], title: str) -> str:
    """The schema of a TOML file that is one record, for editors: draft 7."""
    _, parts = msgspec.json.schema_components([record], ref_template="#/definitions/{name}")
    definitions = {name: _for_toml(_cleaned(part)) for name, part in sorted(parts.items())}
    head = {"$schema": "http://json-schema.org/draft-07/schema#"}
    whole = {**head, **definitions.pop(record.__name__), "title": title}
    return json.dumps({**whole, "definitions": definitions}, indent=2, ensure_ascii=False) + "\n"


def _for_toml(node: Any) -> Any:
    """The same without ``null``, which TOML does not have, and with the rules there are."""
    if isinstance(node, list):
        return [_for_toml(item) for item in node]
    if not isinstance(node, dict):
        return node
    if node.get("format") in _REFERENCES:
        # draft 7 ignores what stands beside a reference
        rest = {key: value for key, value in node.items() if key not in ("format", "type")}
        return {**rest, "allOf": [{"$ref": _REFERENCES[node["format"]]}]}
    node = {key: _for_toml(value) for key, value in node.items()}
    if node.get("default", "") is None or ("minItems" in node and not node.get("default", True)):
        del node["default"]
    kinds = [kind for kind in node.get("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) == 1:
        del node["anyOf"]
        node = {**kinds[0], **node}
    return node


def _rules() -> dict[str, Any]:
    """A word that selects rules: an id or an id prefix, a name, or a group."""
    catalogue = shipped_catalogue()
    names = [catalogue.listed(rule).name for rule in catalogue.ids]
    groups = catalogue.groups()
    docs = [", ".join(ids) for ids in groups.values()] + list(catalogue.ids)
    words = {"type": "string", "enum": [*groups, *names], "x-taplo": {"docs": {"enumValues": docs}}}
    return {"anyOf": [{"$ref": "#/definitions/Rule"}, words]}


def _tables() -> dict[str, Any]:
    """``[rules.ID]`` of each rule: its severity, and its own keys; of a rule from outside only
    the severity is known."""
    tables = {rule: _table(rule) for rule in rule_ids()}
    ids = f"^({'|'.join(map(_in_any_case, tables))})$"
    return {
        "properties": tables,
        "patternProperties": {ids: {"type": "object"}, _OUTSIDE: {"type": "object"}},
        "additionalProperties": False,
    }


def _table(rule_id: str) -> dict[str, Any]:
    rule, summary = shipped_catalogue().rule(rule_id), shipped_catalogue().info(rule_id).summary
    if rule.settings is None:
        return {"description": summary, "allOf": [{"$ref": "#/definitions/RuleTable"}]}
    kind, table = rule.settings.kind, _plain_table()
    own = _cleaned(msgspec.json.schema(kind))["$defs"][kind.__name__]["properties"]
    return {"description": summary, **table, "properties": table["properties"] | own}


def _plain_table() -> dict[str, Any]:
    """What can be set for every rule."""
    severity = {
        "description": "The severity that all findings of the rule have.",
        "enum": list(SEVERITIES),
        "type": "string",
    }
    return {"type": "object", "properties": {"severity": severity}, "additionalProperties": False}


def _rule() -> dict[str, Any]:
    """A rule's id, or the beginning of ids, in capitals or not. What taplo shows of each is in
    ``x-taplo`` (taplo's documentation, "Developing Schemas")."""
    ids = list(rule_ids())
    summaries = [
        f"{shipped_catalogue().info(rule).name}: {shipped_catalogue().info(rule).summary}"
        for rule in ids
    ]
    starts = sorted({rule[:length] for rule in ids for length in range(1, len(rule) + 1)})
    return {
        "anyOf": [
            {"type": "string", "enum": ids, "x-taplo": {"docs": {"enumValues": summaries}}},
            {"type": "string", "pattern": f"^({'|'.join(map(_in_any_case, starts))})$"},
            {"type": "string", "pattern": _OUTSIDE},
        ]
    }


def _in_any_case(text: str) -> str:
    """A pattern; JSON Schema has no flags."""
    return "".join(f"[{c}{c.lower()}]" if c.isalpha() else c for c in text)


def texts() -> dict[str, str]:
    """File name -> content of every schema."""
    return {
        **{name: text_of(record) for name, record in RECORDS.items()},
        SETTINGS: settings_text(shared=False),
        SHARED_SETTINGS: settings_text(shared=True),
        PROFILE: table_text(ProfileTable, "Profile of vnicaudit bench"),
        SCENARIO: table_text(Scenario, "Scenario of vnicaudit advise network"),
    }


def stale(folder: Path = FOLDER) -> list[str]:
    """Names of files that are missing, no longer needed or out of date."""
    found = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.json")}
    wanted = texts()
    names = sorted(found.keys() | wanted.keys())
    return [name for name in names if found.get(name) != wanted.get(name)]


def write(folder: Path = FOLDER) -> None:
    """Write every schema."""
    folder.mkdir(exist_ok=True)
    for name, text in texts().items():
        (folder / name).write_text(text, encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Write or check the schemas; returns the exit code: 1 if ``--check`` finds a difference."""
    if arguments != ["--check"]:
        write()
        return 0
    names = stale()
    for name in names:
        sys.stderr.write(f"docs/schemas/{name} is stale: run python docs/generate_schemas.py\n")
    return bool(names)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
