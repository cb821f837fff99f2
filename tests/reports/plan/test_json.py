"""``vnicaudit.plan/1``: what is written is read back, and what is no plan is refused with its
place."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.reports.plan.cloud_samples import PLAN as CLOUD_PLAN
from tests.reports.plan.plans import PLANS
from tests.reports.plan.samples import EMPTY, MAIL, PLAN
from tests.rows import rows
from tests.shares import examples
from vnicaudit.errors import UsageError
from vnicaudit.model.plan import FileUnit, Plan
from vnicaudit.reports import plan as plan_json
from vnicaudit.reports.plan import from_json, to_json

SCHEMAS = Path(__file__).parents[3] / "docs" / "schemas"
SCHEMA = json.loads((SCHEMAS / "vnicaudit.plan-1.json").read_text("utf-8"))
FITS = jsonschema.Draft202012Validator(SCHEMA)
many = settings(max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow])


def edited(**changes: Any) -> bytes:
    """The sample plan after an edit of its first step; ``about__mac`` is a field of its NIC."""
    document = json.loads(to_json(PLAN))
    for name, value in changes.items():
        *way, last = name.split("__")
        place = document["steps"][0]
        for part in way:
            place = place[int(part) if part.isdigit() else part]
        place[last] = value
    return json.dumps(document).encode()


def refusal(data: bytes) -> str:
    """What is said of a file that is not a plan."""
    with pytest.raises(UsageError) as caught:
        from_json(data, "p.json")
    return str(caught.value)


def test_the_schema_comes_first_and_then_the_fields_of_the_records() -> None:
    text = to_json(EMPTY).decode()
    assert text == (
        '{\n  "schema": "vnicaudit.plan/1",\n  "tool": "vnicaudit",\n  "version": "0.4.0",\n'
        '  "created": "2026-11-21T10:15:00Z",\n  "to": "virtio",\n  "targets": [\n'
        '    "definitions"\n  ],\n  "steps": [],\n  "not_planned": [],\n  "errors": [],\n'
        '  "notes": [],\n  "unread_targets": 0,\n  "hosts": []\n}\n'
    )


def test_what_is_written_is_read_back() -> None:
    assert from_json(to_json(PLAN), "p.json") == PLAN


@many
@given(PLANS)
def test_any_plan_is_read_back_and_fits_the_schema(plan: Plan) -> None:
    data = to_json(plan)
    assert all(line.isprintable() for line in data.decode().split("\n"))
    FITS.validate(json.loads(data))
    again = from_json(data, "p.json") if _ids(plan) else plan
    assert to_json(again) == data


def _ids(plan: Plan) -> bool:
    """Whether ids that are not text as JSON knows it stay different."""
    written = [step["id"] for step in json.loads(to_json(plan))["steps"]]
    return len(set(written)) == len(written)


def test_a_path_that_is_not_utf_8_is_written_visibly() -> None:
    plan = replace(EMPTY, steps=(replace(MAIL, unit=FileUnit("caf\udce9.xml")),))
    assert from_json(to_json(plan), "p.json").steps[0].unit == FileUnit("caf\\xe9.xml")


def test_editors_may_put_a_mark_in_front_and_lay_it_out_anew() -> None:
    data = b"\xef\xbb\xbf" + json.dumps(json.loads(to_json(PLAN))).encode() + b"\r\n\r\n"
    assert from_json(data, "p.json") == PLAN


def test_fields_with_a_default_may_be_left_out() -> None:
    document = json.loads(to_json(EMPTY))
    del document["not_planned"], document["errors"]
    assert from_json(json.dumps(document).encode(), "p.json") == EMPTY


@rows
def test_a_wrong_edit_is_refused_with_its_place(changes: dict[str, Any], message: str) -> None:
    assert refusal(edited(**changes)) == f"p.json: not a plan: {message}"


def test_a_step_of_a_cloud_has_no_file() -> None:
    document = json.loads(to_json(CLOUD_PLAN))
    document["steps"][2]["unit"]["path"] = "a.xml"
    assert refusal(json.dumps(document).encode()) == (
        "p.json: not a plan: steps[2].unit: Object contains unknown field `path`"
    )


def test_an_unknown_field_of_the_plan_and_of_what_was_left_out() -> None:
    document = json.loads(to_json(PLAN))
    document["not_planned"][2]["about"]["mca"] = None
    assert refusal(json.dumps(document).encode()) == (
        "p.json: not a plan: not_planned[2].about: Object contains unknown field `mca`"
    )
    document = {**json.loads(to_json(PLAN)), "comment": "looked at"}
    assert refusal(json.dumps(document).encode()) == (
        "p.json: not a plan: Object contains unknown field `comment`"
    )


def test_a_field_that_is_missing() -> None:
    document = json.loads(to_json(PLAN))
    del document["steps"][1]["digest"]
    assert refusal(json.dumps(document).encode()) == (
        "p.json: not a plan: steps[1]: Object missing required field `digest`"
    )


def test_two_steps_of_one_id() -> None:
    data = to_json(replace(EMPTY, steps=(MAIL, MAIL)))
    assert refusal(data) == "p.json: more than one step has the id 's1'"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", ": empty: not a plan"),
        (b"\xef\xbb\xbf \n", ": empty: not a plan"),
        (b"<domain/>", ":1:1: not JSON: invalid character; a plan is needed, as "
         "`vnicaudit plan -o FILE` writes it"),
        (b'{"schema": "vnicaudit.plan/1",\n  "tool": "x",\n}',
         ":3:1: not JSON: trailing comma in object"),
        (b'{"schema": "vnicaudit.plan/1"} // looked at', ":1:32: not JSON: trailing characters"),
        (b"[]", ": not a plan: Expected `object`, got `array`"),
        (b"{}", ": not a plan: Object missing required field `schema`"),
        (b'{"schema": 1}', ": not a plan: schema: Expected `str`, got `int`"),
        (b'{"schema": "vnicaudit.plan/2", "steps": 7}',
         ": a plan of another version, vnicaudit.plan/2; this vnicaudit reads vnicaudit.plan/1: "
         "plan again"),
        (b'{"schema": "vnicaudit.report/1"}',
         ": not a plan: its schema is 'vnicaudit.report/1'; a plan is vnicaudit.plan/1"),
        (b'{"schema": "vnicaudit.plan/1", "tool": "\xff"}', ": not UTF-8: not a plan"),
        (b'{"schema": "vnicaudit.plan/1", "tool": ' + b"[" * 100_000,
         ": nested too deeply: not a plan"),
    ],
)  # fmt: skip
def test_what_is_no_plan(data: bytes, message: str) -> None:
    assert refusal(data) == f"p.json{message}"


@pytest.mark.parametrize("share", [0.01, 0.3, 0.5, 0.9, 0.999])
def test_a_file_that_is_cut_off(share: float) -> None:
    data = to_json(PLAN)
    assert refusal(data[: int(len(data) * share)]) == "p.json: not JSON: Input data was truncated"


def test_a_file_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    data = to_json(PLAN)
    monkeypatch.setattr(plan_json, "MAX_BYTES", len(data))
    assert from_json(data, "p.json") == PLAN
    monkeypatch.setattr(plan_json, "MAX_BYTES", len(data) - 1)
    assert refusal(data) == "p.json: larger than 0 MiB: not a plan"


@many
@given(st.binary(max_size=60) | st.integers(0, 4000).map(lambda at: to_json(PLAN)[:at]))
def test_any_bytes_are_a_plan_or_refused(data: bytes) -> None:
    assert refusal(data).startswith("p.json")


@many
@given(st.data())
def test_any_edit_is_a_plan_or_refused(data: st.DataObject) -> None:
    text = bytearray(to_json(PLAN))
    at = data.draw(st.integers(0, len(text) - 1))
    text[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    with suppress(UsageError):
        plan = from_json(bytes(text), "p.json")
        assert from_json(to_json(plan), "p.json") == plan
