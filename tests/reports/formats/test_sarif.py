"""SARIF 2.1.0, against the standard's schema."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from tests.reports.samples import CLEAN, END, NOVA, OK_END, WEB_01, finding, written
from vnicaudit.model.finding import Location, Ref
from vnicaudit.model.report import Audited, Suppressed
from vnicaudit.reports.writers import Options
from vnicaudit.text.edits import Replacement, TextPosition

SCHEMA = Path(__file__).parents[1] / "data" / "sarif-schema-2.1.0.json"


@pytest.fixture(scope="module")
def validator() -> Any:
    """The standard's own schema (JSON Schema draft 4)."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return jsonschema.Draft4Validator(schema)


def run_of(stream: list[Audited] | None = None, end: Any = END) -> dict[str, Any]:
    text = written("sarif", end=end) if stream is None else written("sarif", None, stream, end)
    log: dict[str, Any] = json.loads(text)
    return log["runs"][0]  # type: ignore[no-any-return]


def place_of(location: Location) -> dict[str, Any]:
    """The physical location of a finding there."""
    stream = [msgspec.structs.replace(CLEAN, findings=(finding(location=location),))]
    place: dict[str, Any] = run_of(stream)["results"][0]["locations"][0]["physicalLocation"]
    return place


def test_it_is_valid(validator: Any) -> None:
    validator.validate(json.loads(written("sarif")))
    validator.validate(json.loads(written("sarif", stream=[CLEAN], end=OK_END)))


def test_the_schema_at_hand_is_the_standard_and_bites(validator: Any) -> None:
    log = json.loads(written("sarif"))
    log["runs"][0]["results"][0]["level"] = "high"
    with pytest.raises(jsonschema.ValidationError, match="'high' is not one of"):
        validator.validate(log)


def test_rules_carry_their_manual_and_level() -> None:
    rules = run_of()["tool"]["driver"]["rules"]
    assert rules[0] == {
        "id": "VNIC001",
        "name": "legacy-emulated-nic",
        "shortDescription": {"text": "Legacy emulated NIC"},
        "fullDescription": {"text": "Legacy emulated NIC"},
        "help": {
            "text": "Legacy emulated NIC.\n\n## What is wrong\n\nThe NIC is *emulated*.",
            "markdown": "Legacy emulated NIC.\n\n## What is wrong\n\nThe NIC is *emulated*.",
        },
        "defaultConfiguration": {"level": "error"},
        "properties": {
            "severity": "high",
            "judges": ["nic"],
            "tags": [],
            "problem.severity": "error",
        },
    }
    levels = [rule["defaultConfiguration"]["level"] for rule in rules]
    assert levels == ["error", "note", "error", "warning"]


def test_a_finding_in_a_file_has_its_line_nic_and_element() -> None:
    result = run_of()["results"][1]
    assert (result["ruleId"], result["ruleIndex"], result["level"]) == ("VNIC030", 3, "warning")
    assert result["message"]["text"] == (
        "one queue pair for 8 vCPUs (confidence: medium)\n"
        "fix: Set queues='8' in <driver> (virsh edit), then power the guest off and on."
    )
    assert result["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "domains/web-01.xml"},
                "region": {"startLine": 31},
            },
            "logicalLocations": [
                {"name": "NIC 1", "fullyQualifiedName": "web-01/NIC 1", "kind": "nic"},
                {"fullyQualifiedName": "/domain/devices/interface[2]", "kind": "element"},
            ],
        }
    ]
    assert result["partialFingerprints"] == {"vnicaudit/v1": "vnic030-web-01-1"}


def test_a_live_finding_has_names_and_no_file() -> None:
    result = run_of([NOVA])["results"][0]
    assert result["locations"] == [
        {
            "logicalLocations": [
                {
                    "name": "NIC 0",
                    "fullyQualifiedName": "instance-0000002a/NIC 0",
                    "kind": "nic",
                }
            ]
        }
    ]


def test_a_host_finding_is_located_at_its_target() -> None:
    problem = finding(about=Ref("host"), location=Location("qemu:///system"))
    host = Audited("qemu:///system", "kvm7", scope="host", findings=(problem,))
    assert run_of([host])["results"][0]["locations"] == [
        {"logicalLocations": [{"fullyQualifiedName": "qemu:///system", "kind": "target"}]}
    ]


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("web 01#50%.xml", "web%2001%2350%25.xml"),
        ("/etc/libvirt/qemu/web.xml", "file:///etc/libvirt/qemu/web.xml"),
        ("a:b.xml", "a%3Ab.xml"),
        ("größe.xml", "gr%C3%B6%C3%9Fe.xml"),
        ("latin1-\udce9.xml", "latin1-%E9.xml"),
        ("bidi\u202e.xml", "bidi%E2%80%AE.xml"),
        ("half\ud800.xml", "half%5Cud800.xml"),
    ],
)
def test_paths_become_uris(file: str, uri: str) -> None:
    assert place_of(Location("d", file, 1))["artifactLocation"] == {"uri": uri}


def test_a_file_without_a_line_has_no_region() -> None:
    assert place_of(Location("d", "web.xml")) == {"artifactLocation": {"uri": "web.xml"}}


def test_an_accepted_finding_is_a_suppressed_result() -> None:
    results = run_of()["results"]
    assert [("suppressions" in result) for result in results] == [False] * 4 + [True]
    assert results[4]["suppressions"] == [
        {
            "kind": "external",
            "status": "accepted",
            "justification": "the guest is OS/2 (vnicaudit.toml)",
        }
    ]


@pytest.mark.parametrize(
    ("in_source", "file", "kind"),
    [(True, "a.xml", "inSource"), (False, "a.xml", "external"), (True, None, "external")],
)
def test_a_suppression_in_the_file_itself_is_in_its_source(
    in_source: bool, file: str | None, kind: str
) -> None:
    accepted = Suppressed(
        finding(location=Location("d", file)), "agreed", "somewhere", in_source=in_source
    )
    [result] = run_of([msgspec.structs.replace(CLEAN, suppressed=(accepted,))])["results"]
    assert [one["kind"] for one in result["suppressions"]] == [kind]


def test_crashes_and_unread_files_are_notifications_of_a_failed_run() -> None:
    [invocation] = run_of()["invocations"]
    assert invocation["executionSuccessful"] is False
    assert invocation["startTimeUtc"] == "2026-11-20T10:00:00Z"
    crash, broken, failed = invocation["toolExecutionNotifications"]
    assert crash["message"]["text"] == (
        "VNIC048 crashed on instance-0000002a, NIC 0 fa:16:3e:10:20:30: KeyError: 'mtu'"
    )
    assert crash["associatedRule"] == {"id": "VNIC048"}
    assert broken["message"]["text"].startswith("domains/broken.xml:3: Opening and ending tag")
    assert broken["locations"][0]["physicalLocation"]["region"] == {"startLine": 3}
    assert failed == {
        "level": "error",
        "message": {"text": "qemu+ssh://kvm7/system: no answer within 30 s"},
    }


def test_a_clean_run_succeeded_without_notifications() -> None:
    [invocation] = run_of([CLEAN], OK_END)["invocations"]
    assert invocation["executionSuccessful"] is True
    assert invocation["toolExecutionNotifications"] == []


def test_a_rule_outside_the_catalogue_has_no_index() -> None:
    stream = [msgspec.structs.replace(WEB_01, findings=(finding("SUPP001"),))]
    assert "ruleIndex" not in run_of(stream)["results"][0]


def test_a_target_cannot_put_a_link_into_a_message() -> None:
    odd = finding(message="model [click](http://e.example) is unknown", fix="")
    stream = [msgspec.structs.replace(WEB_01, findings=(odd,))]
    text = run_of(stream)["results"][0]["message"]["text"]
    assert text == "model [click\\](http://e.example) is unknown"


def test_related_places_and_columns() -> None:
    place = Location("d", "nova.conf", 8, column=3)
    other = Location("d", "nova.conf.d/10.conf", 2)
    found = msgspec.structs.replace(finding(location=place), related=(other,))
    stream = [msgspec.structs.replace(CLEAN, findings=(found,))]
    (result,) = run_of(stream)["results"]
    assert result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "nova.conf"},
        "region": {"startLine": 8, "startColumn": 3},
    }
    assert result["relatedLocations"] == [
        {"physicalLocation": {
            "artifactLocation": {"uri": "nova.conf.d/10.conf"}, "region": {"startLine": 2},
        }}
    ]  # fmt: skip


def test_a_rule_has_an_address_where_somebody_says_where_the_pages_are(validator: Any) -> None:
    log = json.loads(written("sarif", Options(docs_url="https://docs.example.org/vnic")))
    validator.validate(log)
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["informationUri"] == "https://docs.example.org/vnic"
    assert driver["rules"][0]["helpUri"] == "https://docs.example.org/vnic/rules/VNIC001.html"
    assert not any("helpUri" in rule for rule in run_of()["tool"]["driver"]["rules"])


def test_a_fix_is_replacements_in_the_file_of_the_finding(validator: Any) -> None:
    place = Location("d", "d/größe.xml", 3, column=1)
    known = finding(location=place)
    fixes = {
        known.fingerprint: [
            Replacement(TextPosition(3, 1), TextPosition(4, 2), "new\n"),
            Replacement(TextPosition(9, 5), TextPosition(9, 7), ""),
        ]
    }
    stream = [msgspec.structs.replace(WEB_01, findings=(known, finding("VNIC009")))]
    options = Options(replacements=lambda one: fixes.get(one.fingerprint, ()))
    log = json.loads(written("sarif", options, stream))
    validator.validate(log)
    first, second, *_suppressed = log["runs"][0]["results"]
    assert "fixes" not in second
    assert first["fixes"] == [
        {
            "description": {"text": known.fix},
            "artifactChanges": [
                {
                    "artifactLocation": {"uri": "d/gr%C3%B6%C3%9Fe.xml"},
                    "replacements": [
                        {
                            "deletedRegion": {
                                "startLine": 3, "startColumn": 1, "endLine": 4, "endColumn": 2,
                            },
                            "insertedContent": {"text": "new\n"},
                        },
                        {
                            "deletedRegion": {
                                "startLine": 9, "startColumn": 5, "endLine": 9, "endColumn": 7,
                            },
                        },
                    ],
                }
            ],
        }
    ]  # fmt: skip


def test_subjects_are_those_of_json(validator: Any) -> None:
    image = finding(about=Ref("image", "debian", "i-1"), location=Location("openstack:prod"))
    stream = [msgspec.structs.replace(WEB_01, findings=(finding(), image))]
    text = written("sarif", stream=stream)
    validator.validate(json.loads(text))
    nic, other, *_suppressed = json.loads(text)["runs"][0]["results"]
    assert nic["properties"]["about"] == msgspec.to_builtins(finding().about)
    assert other["properties"]["about"]["id"] == "i-1"
    assert other["locations"][0]["logicalLocations"][0]["kind"] == "image"
