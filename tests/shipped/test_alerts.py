"""Alert rules and the dashboard under templates/, by the real promtool."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ruamel.yaml

from tests.not_run import not_run
from tests.promtool import promtool
from tests.reports.bench.golden import written as measured
from tests.reports.bench.samples import one_arm
from tests.reports.metrics.test_fleet import COUNTS, text_of
from tests.reports.samples import written

ROOT = Path(__file__).parents[2]
RULES = ROOT / "templates/prometheus/vnicaudit.rules.yml"
DASHBOARD = ROOT / "templates/grafana/vnicaudit-fleet.json"
TESTS = Path(__file__).parent / "alerts_test.yml"
PAGE = ROOT / "docs/how-to/scheduled-audit.md"

UNITS = {"short", "s", "percentunit"}
PANELS = {"stat", "timeseries", "table"}


def alerts() -> list[dict[str, Any]]:
    groups = ruamel.yaml.YAML(typ="safe").load(RULES)["groups"]
    return [rule for group in groups for rule in group["rules"]]


@pytest.fixture(scope="module")
def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(DASHBOARD.read_text())
    return found


def metrics() -> set[str]:
    """Names of all that is exported."""
    text = text_of(COUNTS) + written("prometheus")
    text += measured("prometheus", one_arm())
    return set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))


def test_promtool_takes_the_rules() -> None:
    assert f"SUCCESS: {len(alerts())} rules found" in promtool("check", "rules", RULES)


def test_what_fires_when_and_what_does_not(tmp_path: Path) -> None:
    path = tmp_path / "alerts_test.yml"
    path.write_text(TESTS.read_text().replace("RULES", str(RULES)))
    assert "SUCCESS" in promtool("test", "rules", path)


def test_every_alert_is_tested_to_fire_and_explained() -> None:
    tested, page = TESTS.read_text(), PAGE.read_text()
    for rule in alerts():
        assert re.search(rf"alertname: {rule['alert']}\n +exp_alerts", tested), rule["alert"]
        assert f"| `{rule['alert']}` |" in page
        assert rule["annotations"].keys() == {"summary", "description", "runbook"}
        assert rule["labels"].keys() == {"severity"}


def test_rules_and_dashboard_ask_for_nothing_that_is_not_exported(
    dashboard: dict[str, Any],
) -> None:
    exprs = [*(rule["expr"] for rule in alerts()), *expressions(dashboard)]
    asked = {name for expr in exprs for name in re.findall(r"vnicaudit_\w+", expr)}
    assert asked - metrics() == set()


def expressions(dashboard: dict[str, Any]) -> Iterator[str]:
    """Every PromQL expression of it."""
    for panel in dashboard["panels"]:
        yield from (target["expr"] for target in panel["targets"])
    yield from (one["expr"] for one in dashboard["annotations"]["list"])


def test_every_expression_of_the_dashboard_is_promql(
    dashboard: dict[str, Any], tmp_path: Path
) -> None:
    lines = ["groups: [{name: dashboard, rules: ["]
    for number, expr in enumerate(expressions(dashboard)):
        shown = re.sub(r"\$\w+", "x", expr)
        lines.append(f"{{record: 'a:b{number}', expr: {json.dumps(shown)}}},")
    path = tmp_path / "dashboard.yml"
    path.write_text("\n".join([*lines, "]}]"]))
    assert "SUCCESS" in promtool("check", "rules", path)


def test_panels_have_ids_of_their_own_places_units_and_words(dashboard: dict[str, Any]) -> None:
    panels = dashboard["panels"]
    assert sorted(panel["id"] for panel in panels) == list(range(1, len(panels) + 1))
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert taken.isdisjoint(cells), panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells
        assert panel["type"] in PANELS
        assert panel["fieldConfig"]["defaults"]["unit"] in UNITS
        assert panel["title"]
        assert panel["description"].endswith(".")
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])


def test_every_panel_asks_the_data_source_that_was_chosen(dashboard: dict[str, Any]) -> None:
    source = {"type": "prometheus", "uid": "${datasource}"}
    variables = {one["name"]: one for one in dashboard["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    assert variables["site"]["datasource"] == source
    for panel in dashboard["panels"]:
        assert panel["datasource"] == source
        assert all(target["datasource"] == source for target in panel["targets"])
    used = {name for expr in expressions(dashboard) for name in re.findall(r"\$(\w+)", expr)}
    assert used == {"site", "severity"} <= variables.keys()


OF_THE_DATA_SOURCE = {"step", "titleFormat", "definition"}
"""Fields of annotations and variables that Grafana hands to the data source: no schema has them."""


def test_grafanas_schema_has_every_field_of_the_dashboard(dashboard: dict[str, Any]) -> None:
    """Grafana 11.6: what it decodes and writes again has each value of ours in its place."""
    if sys.version_info < (3, 11):
        not_run("tests", "grafana-foundation-sdk needs Python 3.11")
    from grafana_foundation_sdk.cog import plugins
    from grafana_foundation_sdk.cog.encoder import JSONEncoder
    from grafana_foundation_sdk.models.dashboard import Dashboard

    plugins.register_default_plugins()
    again = json.loads(JSONEncoder().encode(Dashboard.from_json(dashboard)))
    assert set(lost(dashboard, again, "")) == set()
    misspelt = json.loads(DASHBOARD.read_text().replace('"gridPos"', '"gridpos"', 1))
    again = json.loads(JSONEncoder().encode(Dashboard.from_json(misspelt)))
    assert set(lost(misspelt, again, "")) == {".panels[0].gridpos"}


def lost(ours: object, theirs: object, path: str) -> Iterator[str]:
    """Places of values that are not in both."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name, value in ours.items():
            if name not in OF_THE_DATA_SOURCE:
                yield from lost(value, theirs.get(name), f"{path}.{name}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from lost(one, other, f"{path}[{number}]")
    elif ours != theirs:
        yield path


def test_the_dashboard_can_be_imported_beside_others(dashboard: dict[str, Any]) -> None:
    assert dashboard["uid"] == "vnicaudit-fleet"
    assert "id" not in dashboard
    assert dashboard["schemaVersion"] >= 36
