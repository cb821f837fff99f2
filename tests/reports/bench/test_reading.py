"""Reading ``vnicaudit.bench/1``: what comes back, and what is said of what is none."""

import contextlib
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reports.bench.golden import written
from tests.reports.bench.samples import one_arm, two_arms
from vnicaudit.errors import UsageError
from vnicaudit.reports.bench import reading
from vnicaudit.reports.bench.reading import from_file, from_json

WHOLE = written("json", one_arm()).encode()


def fault(data: bytes) -> str:
    with pytest.raises(UsageError) as caught:
        from_json(data, "f.json")
    return str(caught.value)


def test_a_byte_order_mark_and_fields_of_a_later_version_are_no_faults(tmp_path: Path) -> None:
    document = json.loads(WHOLE)
    document["later"] = {"a": [1]}
    document["samples"][0]["later"] = None
    path = tmp_path / "bench.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(document).encode())
    assert from_file(path) == one_arm()


def test_a_file_that_is_cut_off_anywhere_is_none() -> None:
    for end in range(1, len(WHOLE) - 1):
        assert re.match(r"f\.json(:\d+:\d+)?: not JSON: ", fault(WHOLE[:end])), end


def changed(**fields: object) -> bytes:
    return json.dumps({**json.loads(WHOLE), **fields}).encode()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "f.json: empty: not a measurement"),
        (b" \n", "f.json: empty: not a measurement"),
        (b"{", "f.json: not JSON: Input data was truncated"),
        (b"[]", "f.json: not a measurement: Expected `object`, got `array`"),
        (b"{}\n x", "f.json:2:2: not JSON: trailing characters"),
        (b'{"a": NaN}', "f.json:1:7: not JSON: invalid character"),
        (b'{"a":' * 100_000, "f.json: nested too deeply: not a measurement"),
        (
            b'{"schema":"vnicaudit.plan/1"}',
            "f.json: not a measurement: its schema is 'vnicaudit.plan/1'; a measurement is "
            "vnicaudit.bench/1",
        ),
        (
            changed(schema="vnicaudit.bench/2"),
            "f.json: a measurement of another version, vnicaudit.bench/2; this vnicaudit reads "
            "vnicaudit.bench/1: read it with the version that wrote it",
        ),
        (changed(schema=1), "f.json: not a measurement: schema: Expected `str`, got `int`"),
        (
            changed(run={}),
            "f.json: not a measurement: run: Object missing required field `id`",
        ),
        (changed(samples=3), "f.json: not a measurement: samples: Expected `array`, got `int`"),
        (
            changed(samples=[{"workload": 1}]),
            "f.json: not a measurement: samples[0].workload: Expected `str`, got `int`",
        ),
        (
            changed(arms=["other"]),
            "f.json: not a measurement: samples[0].arm: there is no arm 'now'",
        ),
        (
            changed(workloads=[]),
            "f.json: not a measurement: samples[0].workload: there is no workload "
            "'iperf3.tcp.tx.c1.64k'",
        ),
        (
            WHOLE.replace(b"7841240000.0", b"1e999"),
            "f.json: not a measurement: samples[0].values[...]: Number out of range",
        ),
    ],
)  # fmt: skip
def test_what_is_none_is_said_with_the_place(data: bytes, message: str) -> None:
    assert fault(data) == message


def test_what_is_not_utf_8_is_none() -> None:
    """Versions of msgspec tell it in different ways."""
    message = fault(b'{"schema": "\xff"}')
    assert message.startswith("f.json: not ")
    assert "UTF-8" in message


def test_a_result_of_no_workload_is_in_no_table() -> None:
    document = json.loads(written("json", two_arms()))
    document["results"][2]["after_arm"] = "later"
    assert fault(json.dumps(document).encode()) == (
        "f.json: not a measurement: results[2].after_arm: there is no arm 'later'"
    )


def test_a_run_that_is_there_twice_is_no_evidence() -> None:
    document = json.loads(written("json", two_arms()))
    document["samples"].append(document["samples"][0])
    last, first = len(document["samples"]) - 1, document["samples"][0]
    assert fault(json.dumps(document).encode()) == (
        f"f.json: not a measurement: samples[{last}]: run {first['order']} of {first['arm']!r} "
        "appears twice"
    )


def test_less_than_nothing_was_never_measured() -> None:
    document = json.loads(written("json", two_arms()))
    document["samples"][3]["values"] = {"goodput": -5.0}
    assert fault(json.dumps(document).encode()) == (
        "f.json: not a measurement: samples[3].values.goodput: less than 0"
    )


def test_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bench.json"
    path.write_bytes(WHOLE)
    assert from_file(path) == one_arm()
    monkeypatch.setattr(reading, "MAX_BYTES", len(WHOLE) - 1)
    with pytest.raises(UsageError, match=r"bench\.json: larger than 0 MiB: not a measurement"):
        from_file(path)
    with pytest.raises(UsageError, match=r"missing\.json: No such file or directory"):
        from_file(tmp_path / "missing.json")
    with pytest.raises(UsageError, match=f"^{re.escape(str(tmp_path))}: "):
        from_file(tmp_path)


@given(st.integers(0, len(WHOLE) - 1), st.binary(min_size=1, max_size=4))
def test_whatever_is_put_into_a_file_it_is_a_measurement_or_a_usage_error(
    at: int, data: bytes
) -> None:
    with contextlib.suppress(UsageError):
        assert from_json(WHOLE[:at] + data + WHOLE[at + len(data) :], "f.json").arms
