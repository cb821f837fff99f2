"""SARIF 2.1.0, against the standard's schema."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from tests.reports.samples import CLEAN, END, OK_END, WEB_01, finding, written
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


def test_a_host_finding_is_located_at_its_target() -> None:
    problem = finding(about=Ref("host"), location=Location("qemu:///system"))
    host = Audited("qemu:///system", "kvm7", scope="host", findings=(problem,))
    assert run_of([host])["results"][0]["locations"] == [
        {"logicalLocations": [{"fullyQualifiedName": "qemu:///system", "kind": "target"}]}
    ]


def test_a_finding_in_a_live_cluster_names_the_object_and_the_place_in_it() -> None:
    place = Location("kube:prod", xpath="[shop/lan]/spec/config")
    problem = finding(about=Ref("cluster"), location=place)
    cluster = Audited("kube:prod", "prod", scope="cluster", findings=(problem,))
    assert run_of([cluster])["results"][0]["locations"] == [
        {"logicalLocations": [
            {"fullyQualifiedName": "kube:prod shop/lan#/spec/config", "kind": "element"}
        ]}
    ]  # fmt: skip


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
