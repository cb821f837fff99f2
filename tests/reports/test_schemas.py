"""The published schemas are those of the records, and fit what is written."""

import json
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from tests.reports.bench.golden import written as written_bench
from tests.reports.bench.samples import two_arms
from tests.reports.history.samples import DETAILS, DRIFT, STATUS, TREND
from tests.reports.nic_samples import ODD, WEB
from tests.reports.notices.samples import new
from tests.reports.plan.samples import PLAN
from tests.reports.ranking.samples import ranked_sample
from tests.reports.runs.samples import RUNS
from tests.reports.samples import END, RULES, finding, written
from tests.reports.test_explain import IT
from vnicaudit.advise import advice_for
from vnicaudit.bench.line_rate import Framing, line_rate
from vnicaudit.bench.profiles.load import load_profile, shipped_profiles
from vnicaudit.cli import diff_compare as diff_output
from vnicaudit.cli.diff_compare import ReportDifference
from vnicaudit.cli.doctor import DoctorCheck, DoctorReport
from vnicaudit.fleet.own_format import HostCheck
from vnicaudit.knowledge.partitions import partition_of
from vnicaudit.model.fleet import HostOptions
from vnicaudit.model.host import HostRecording, Section
from vnicaudit.model.host_facts import CpuFacts, HostFacts
from vnicaudit.model.report import NotFixed
from vnicaudit.model.runs import Preview
from vnicaudit.model.scenario import Scenario, ScenarioPlatform, TrafficFlow
from vnicaudit.reports import history as history_json
from vnicaudit.reports import inventory as inventory_json
from vnicaudit.reports import plan as plan_json
from vnicaudit.reports.bench import profiles as profiles_json
from vnicaudit.reports.differences import Differences, as_json
from vnicaudit.reports.explain import explanation_json
from vnicaudit.reports.nics import as_json as nics_json
from vnicaudit.reports.notices import messages_of
from vnicaudit.reports.ranking import ranking_json
from vnicaudit.reports.rules import catalogue_json
from vnicaudit.reports.runs import dry_run_json, runs_json
from vnicaudit.reports.writers import Options

DOCS = Path(__file__).parents[2] / "docs"
HOST_OF_A_FLEET = inventory_json.InventoryRow(
    "kvm1", "qemu+ssh://kvm1/system", "ber1", ("zone_a",), HostOptions(20.0), "fleet.toml:3", "",
    HostCheck(error="no answer within 30 s", failure="deadline"),
)  # fmt: skip


def _differences(found: Differences) -> str:
    return "".join(as_json(found, Options()))


DIFFERENCES = diff_output.differences(
    "old.json", "new.json",
    [
        ReportDifference("worse", finding(), "low"),
        ReportDifference("unknown", finding(), "low", "not read"),
    ],
    ["a note"],
)  # fmt: skip
DOCTOR = DoctorReport(
    "vnicaudit.doctor/1", "0.1.0", False, (DoctorCheck("libvirt", "problem", "no socket"),)
)
RECORDING = HostRecording(
    version="0.1.0",
    recorded="2026-11-01T02:03:04Z",
    place="ssh://kvm1",
    sections=(Section("files", "/proc/uptime\x007.00 1.00"), Section("a", "", 1)),
)
SCENARIO = Scenario(
    platform=ScenarioPlatform(sdn="ovn-kubernetes"),
    flows=(
        TrafficFlow(name="db", source="pod", to="external", connections=250, present="default"),
        TrafficFlow(name="vm", source="external", to="vm", present="passt"),
        TrafficFlow(name="new", source="pod", to="pod"),
    ),
)

WRITTEN: dict[str, Callable[[], str | bytes]] = {
    "vnicaudit.report-1.json": lambda: written("json"),
    "vnicaudit.nics-1.json": lambda: "".join(nics_json([WEB, ODD])),
    "vnicaudit.explain-1.json": lambda: explanation_json(IT),
    "vnicaudit.rules-1.json": lambda: catalogue_json(RULES),
    "vnicaudit.plan-1.json": lambda: plan_json.to_json(PLAN),
    "vnicaudit.runs-1.json": lambda: runs_json(RUNS),
    "vnicaudit.notice-1.json": lambda: next(messages_of("json", [new(1)], "a")).body,
    "vnicaudit.dry-run-1.json": lambda: dry_run_json(
        "apply",
        "next-boot",
        [
            Preview("web-\x1b\udce9", "would-change", steps=("1",)),
            Preview("mail", "refused", "the server is locked", ("locked",), ("2", "3")),
        ],
        [Preview("db", "refused", "unsafe: no driver", ("unsafe",), ("4",))],
    ),
    "vnicaudit.bench-1.json": lambda: written_bench("json", two_arms()),
    "vnicaudit.profiles-1.json": lambda: profiles_json.to_json(
        [load_profile(name) for name in shipped_profiles()]
    ),
    "vnicaudit.host-cpus-1.json": lambda: msgspec.json.encode(
        partition_of(HostFacts(cpus=CpuFacts(online=(0, 1), nova_shared=(1,))))
    ),
    "vnicaudit.line-rate-1.json": lambda: msgspec.json.encode(line_rate(25e9, Framing(), 13.4e9)),
    "vnicaudit.history-1.json": lambda: history_json.to_json(STATUS),
    "vnicaudit.history-audit-1.json": lambda: history_json.to_json(DETAILS),
    "vnicaudit.trend-1.json": lambda: history_json.to_json(TREND),
    "vnicaudit.drift-1.json": lambda: _differences(history_json.drift_differences(DRIFT)),
    "vnicaudit.top-1.json": lambda: ranking_json(ranked_sample()),
    "vnicaudit.diff-1.json": lambda: _differences(diff_output.report_differences(DIFFERENCES)),
    "vnicaudit.doctor-1.json": lambda: msgspec.json.encode(DOCTOR),
    "vnicaudit.host-facts-1.json": lambda: msgspec.json.encode(RECORDING),
    "vnicaudit.inventory-1.json": lambda: inventory_json.to_json([HOST_OF_A_FLEET], ["a note"]),
    "vnicaudit.advice-1.json": lambda: msgspec.json.encode(advice_for(SCENARIO)),
}


@pytest.fixture(scope="module")
def generator() -> dict[str, Any]:
    """The names that docs/generate_schemas.py defines."""
    return runpy.run_path(str(DOCS / "generate_schemas.py"))


def test_the_committed_schemas_are_current(generator: dict[str, Any]) -> None:
    assert generator["stale"]() == []
    assert generator["main"](["--check"]) == 0


def test_a_changed_a_missing_and_a_left_over_schema_are_stale(
    generator: dict[str, Any], tmp_path: Path
) -> None:
    generator["write"](tmp_path)
    assert generator["stale"](tmp_path) == []
    (tmp_path / "vnicaudit.nics-1.json").unlink()
    (tmp_path / "vnicaudit.report-1.json").write_text("{}", encoding="utf-8")
    (tmp_path / "vnicaudit.old-1.json").write_text("{}", encoding="utf-8")
    assert generator["stale"](tmp_path) == [
        "vnicaudit.nics-1.json", "vnicaudit.old-1.json", "vnicaudit.report-1.json",
    ]  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_written_fits_its_schema(name: str) -> None:
    schema = json.loads((DOCS / "schemas" / name).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    document = json.loads(WRITTEN[name]())
    validator.validate(document)
    document["schema"] = "vnicaudit.other/1"
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(document)


def test_what_was_not_fixed_fits_the_schema_of_a_report() -> None:
    end = msgspec.structs.replace(END, not_fixed=(NotFixed("ab12", "returns", "it comes back"),))
    text = written("json", stream=(), end=end)
    schema = json.loads((DOCS / "schemas" / "vnicaudit.report-1.json").read_text("utf-8"))
    document = json.loads(text)
    jsonschema.Draft202012Validator(schema).validate(document)
    assert document["not_fixed"] == [
        {"fingerprint": "ab12", "code": "returns", "reason": "it comes back"}
    ]


def test_every_schema_is_tried(generator: dict[str, Any]) -> None:
    assert WRITTEN.keys() == generator["RECORDS"].keys()
