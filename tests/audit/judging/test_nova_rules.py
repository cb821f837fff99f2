"""All rules of nova.conf together: none crashes, whatever stands there; defaults are all right."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vnicaudit.audit.judging.catalogue import rule_ids
from vnicaudit.audit.judging.judgement import DescriptionAuditor
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.errors import TargetError
from vnicaudit.knowledge.nova_conf.options import knowledge, releases
from vnicaudit.knowledge.nova_conf.resolve import as_of
from vnicaudit.model.report import Audited
from vnicaudit.platforms.nova_conf.read import read_bytes

JUDGE = DescriptionAuditor(rule_ids(), every_platform().wordings)
_KNOWN = sorted(knowledge().options)
_VALUES = st.one_of(
    st.sampled_from([
        "true", "off", "0", "-1", "1", "8", "256", "1e9", "nan", "kvm", "qemu", "", "{{ x }}", "$x",
        "$virt_type", "[]", "{}", '{"address": {"bus": "("}}', '{"vendor_id": []}', "9" * 60,
        "x\n y", '{"address": "0:0:0.0", "devname": "e"}', "[" * 2000,
    ]),
    st.text(max_size=20),
    st.dictionaries(
        st.sampled_from(["address", "vendor_id", "product_id", "devname", "managed"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=8),
            lambda inner: st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["bus", "slot", "x"]), inner, max_size=3),
            max_leaves=6,
        ),
    ).map(json.dumps),
)  # fmt: skip
_LINES = st.tuples(st.sampled_from(_KNOWN), _VALUES)


@settings(deadline=None)
@given(st.lists(_LINES, max_size=8), st.sampled_from(releases()), st.booleans())
def test_no_rule_crashes(
    lines: list[tuple[tuple[str, str], str]], release: object, flags: bool
) -> None:
    text = "".join(
        f"--{name}={value}\n" if flags else f"[{section}]\n{name} = {value}\n"
        for (section, name), value in lines
    )
    try:
        config = read_bytes(text.encode("utf-8", "replace"), target="t", file="nova.conf")
    except TargetError:
        return
    for judged in (config, as_of(config, release)):  # type: ignore[arg-type]
        assert JUDGE.audit(judged, "t").crashed == ()


def audit(text: str, number: int) -> Audited:
    config = read_bytes(text.encode(), target="t", file="nova.conf")
    release = next(release for release in releases() if release.number == number)
    return JUDGE.audit(as_of(config, release), "t")


@pytest.mark.parametrize("number", [release.number for release in releases()])
def test_the_defaults_of_a_release_are_clean_in_it(number: int) -> None:
    lines = [
        f"[{known.section}]\n{known.name} = {known.form.default}\n"
        for known in knowledge(number).options.values()
        if known.status == "current" and known.form is not None and known.form.default is not None
    ]
    audited = audit("".join(lines), number)
    assert (audited.findings, audited.skipped, audited.crashed) == ((), (), ())


def test_of_a_file_of_nothing_but_dead_lines_the_first_are_told() -> None:
    dead = "vif_driver = x\nmax_queues = 0\n" * 4_000
    audited = audit(f"[libvirt]\n{dead}[pci]\n" + "device_spec = x\n" * 2_000, 34)
    rules = [finding.rule for finding in audited.findings]
    assert {rule: rules.count(rule) for rule in rules} == {
        "VNIC073": 1,
        "VNIC074": 50,
        "VNIC075": 50,
    }
