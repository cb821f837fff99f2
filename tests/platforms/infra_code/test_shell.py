"""Shell scripts: which commands are read, what they say, where it stands."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.rows import rows
from vnicaudit.model.openstack import Flavor, Image
from vnicaudit.platforms.infra_code import looks_like
from vnicaudit.platforms.infra_code.shell import read
from vnicaudit.text.shell import commands
from vnicaudit.text.template_walk import HOLE, with_holes

SCRIPT = """#!/bin/bash
# openstack image create --property hw_vif_model=e1000 commented
set -e
ID=$(openstack --os-cloud prod image create -f value -c id \\
    --disk-format qcow2 --property "hw_vif_model=e1000" \\
    --property=os_distro='ubuntu22.04' --file "$FILE" "my image" 2>/dev/null)
cat <<EOF >readme
openstack image create --property hw_vif_model=e1000 text
EOF
echo openstack image create --property hw_vif_model=e1000 echoed
for name in a b; do
  sudo -E openstack flavor set --property hw:vif_multiqueue_enabled=$MQ "$name" >/dev/null 2>&1
done
if [ -n "$OLD" ]; then openstack flavor set --property hw:vif_multiqueue_enabled=true m1; fi
"""


def _read(text: str) -> list[Image | Flavor]:
    return list(read(text.encode(), target="t", file="make.sh"))


def _said(text: str) -> list[tuple[str, list[tuple[str, str]]]]:
    return [
        (found.name, [(each.name, each.value) for each in found.properties])
        for found in _read(text)
    ]


def test_commands_that_run_are_read_and_no_others() -> None:
    assert _said(SCRIPT) == [
        ("my image", [("hw_vif_model", "e1000"), ("os_distro", "ubuntu22.04")]),
        ("$name", [("hw:vif_multiqueue_enabled", "$MQ")]),
        ("m1", [("hw:vif_multiqueue_enabled", "true")]),
    ]


def test_each_property_has_its_place() -> None:
    image = _read(SCRIPT)[0]
    assert [str(each.location) for each in image.properties] == [
        "make.sh:5:36",
        "make.sh:6:5",
    ]
    assert str(image.location) == "make.sh:4:6"


def test_what_a_command_says_beside_properties() -> None:
    image, flavor, _m1 = _read(SCRIPT)
    assert isinstance(image, Image)
    assert (image.disk_format, image.complete, image.libosinfo_model) == ("qcow2", True, "e1000e")
    assert isinstance(flavor, Flavor)
    assert (flavor.vcpus, flavor.complete) == (None, False)


def test_a_variable_makes_a_value_uncertain() -> None:
    assert [each.certain for found in _read(SCRIPT) for each in found.properties] == [
        True,
        True,
        False,
        True,
    ]


def test_a_later_command_completes_an_image() -> None:
    (image,) = _read(
        "openstack image create --property hw_vif_model=e1000 $NAME\n"
        "openstack image set --property hw_vif_model=virtio $NAME\n"
    )
    assert isinstance(image, Image)
    assert image.vif_model == "virtio"


def test_a_variable_that_is_set_anew_names_another_image() -> None:
    first, second = _read(
        "NAME=a\nopenstack image set --property hw_vif_model=e1000 $NAME\n"
        "NAME=b\nopenstack image set --property hw_vif_model=virtio $NAME\n"
    )
    assert isinstance(first, Image)
    assert isinstance(second, Image)
    assert (first.vif_model, second.vif_model) == ("e1000", "virtio")


def test_a_command_about_something_unknown_may_be_about_the_new_image() -> None:
    (image, _other) = _read(
        "ID=$(openstack image create --property os_distro=ubuntu22.04 jammy)\n"
        "openstack image set --property hw_vif_model=virtio $ID\n"
    )
    assert not image.complete


def test_another_name_is_another_image() -> None:
    first, _second = _read(
        "openstack image create --property os_distro=ubuntu22.04 jammy\n"
        "openstack image set --property hw_vif_model=virtio focal\n"
    )
    assert first.complete


def test_options_from_an_array_may_say_anything() -> None:
    (image,) = _read('openstack image create --property os_distro=debian12 "${ARGS[@]}" bookworm\n')
    assert not image.complete


def test_unset_takes_a_property_away() -> None:
    (image,) = _read(
        "openstack image create --property hw_vif_model=e1000 a\n"
        "openstack image unset --property hw_vif_model a\n"
    )
    assert image.properties == ()
    assert not image.complete


def test_glance_commands() -> None:
    assert _said(
        "glance image-create --name a --disk-format raw --property hw_vif_model=pcnet\n"
        "glance --os-image-api-version 2 image-update --property hw_vif_model=e1000 $ID\n"
        "glance image-create --os-distro debian12 --name b\n"
    ) == [
        ("a", [("hw_vif_model", "pcnet")]),
        ("$ID", [("hw_vif_model", "e1000")]),
        ("b", [("os_distro", "debian12")]),
    ]


def test_vcpus_of_a_new_flavor() -> None:
    flavors = _read(
        "openstack flavor create --vcpus 4 --ram 1 a\n"
        "openstack flavor create --ram 1 b\n"
        "openstack flavor create --vcpus $N --ram 1 c\n"
    )
    assert [each.vcpus for each in flavors if isinstance(each, Flavor)] == [4, 1, None]


def test_jinja_is_a_hole() -> None:
    (image,) = _read(
        "{% if x %}\nopenstack image set --property hw_vif_model={{ model | default('a b') }} i\n"
    )
    assert [(each.name, each.certain) for each in image.properties] == [("hw_vif_model", False)]


def test_what_is_a_script() -> None:
    line = b"openstack image set --property hw_vif_model=e1000 a\n"
    assert looks_like(b"#!/bin/sh\n" + line)
    assert looks_like(b"#!/usr/bin/env bash\n" + line)
    assert looks_like(b"# upload\n\nset -eu\n" + line)
    assert looks_like(line)
    assert looks_like(
        b"source openrc\nopenstack \\\n  image \\\n  create a\n".replace(b" \\\n  c", b" c")
    )


def test_what_is_no_script() -> None:
    line = b"openstack image set --property hw_vif_model=e1000 a\n"
    assert not looks_like(b"# Images\n\nRun this:\n\n    " + line)
    assert not looks_like(b"To change it, run\n" + line)
    assert not looks_like(b"#!/usr/bin/python3\nimport os\n# " + line)
    assert not looks_like(b"#!/bin/sh\necho hello\n")
    assert not looks_like(b"#!/bin/sh\nopenstack server list\n")


@given(st.text(alphabet="ab \"'`$(){}\\\n<>#;&|=-{[@]!", max_size=80))
def test_any_text_has_commands(text: str) -> None:
    for command in commands(text):
        assert command
        for word in command:
            assert 0 <= word.start < len(text)


def test_deep_nesting_ends() -> None:
    assert commands("$(" * 5000)
    assert commands("(" * 5000 + "a") == [(commands("a")[0][0]._replace(start=5000),)]


@rows
def test_nothing_that_is_opened_ten_thousand_times_is_lost_or_fatal(opening: str) -> None:
    text = f"openstack image create --property hw_vif_model=e1000 x\n: {opening * 10_000}"
    assert _said(text) == [("x", [("hw_vif_model", "e1000")])]
    inline = f"openstack image create --property hw_vif_model=e1000 x {opening * 10_000}"
    (image,) = _read(inline)
    assert [each.value for each in image.properties] == ["e1000"]


def test_a_command_in_a_process_substitution() -> None:
    assert [[word.text for word in command] for command in commands("a <(b c) >(d) e")] == [
        ["b", "c"],
        ["d"],
        ["a", "<(b c)", ">(d)", "e"],
    ]


@pytest.mark.parametrize(
    ("digits", "vcpus"), [("8", 8), ("9" * 18, 10**18 - 1), ("9" * 19, None), ("9" * 5000, None)]
)
def test_a_count_is_one_that_fits(digits: str, vcpus: int | None) -> None:
    (flavor,) = _read(f"openstack flavor create --vcpus {digits} a\n")
    assert isinstance(flavor, Flavor)
    assert flavor.vcpus == vcpus


def test_what_is_set_later_is_in_effect() -> None:
    text = (
        "openstack image create --property a=1 --property b=1 --property c=1 x\n"
        "openstack image set --property a=2 x\n"
        "openstack image unset --property b x\n"
        "openstack image set --property d=1 --disk-format qcow2 x\n"
    )
    assert _said(text) == [("x", [("c", "1"), ("a", "2"), ("d", "1")])]
    (image,) = _read(text)
    assert isinstance(image, Image)
    assert (image.disk_format, image.complete) == ("qcow2", False)


_TAG = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|(?<!\$)\{#.*?#\}", re.DOTALL)


@given(st.text(alphabet="{}%#$a\n ", max_size=60))
@example("{%{%}}")
@example("{{{}}}")
@example("{{ {a} }}}")
def test_templates_become_holes(text: str) -> None:
    parts, done = [], 0
    while (tag := _TAG.search(text, done)) is not None:
        end, inside = tag.end(), tag.group()[2:-2]
        expression = tag.group().startswith("{{")
        own = max(0, inside.count("{") - inside.count("}")) if expression else 0
        if text[end : end + own] == "}" * own:
            end += own
        covered = re.sub(r"[^\n]", HOLE if expression else " ", text[tag.start() : end])
        parts += [text[done : tag.start()], covered]
        done = end
    assert with_holes(text) == "".join([*parts, text[done:]])


@pytest.mark.parametrize(
    "placeholder",
    ["@MODEL@", "%MODEL%", "<model>", "__MODEL__", "${MODEL}", "'((model))'", "'{model}'",
     "'#{model}#'", "'%(model)s'", "{{ model }}", "'<%= model %>'"],
)  # fmt: skip
@pytest.mark.parametrize("behind", [" x", "\n", ""])
def test_a_value_that_is_a_placeholder_is_not_certain(placeholder: str, behind: str) -> None:
    (image,) = _read(f"openstack image create x --property hw_vif_model={placeholder}{behind}")
    assert isinstance(image, Image)
    (found,) = image.properties
    assert (found.name, found.certain) == ("hw_vif_model", False)
    assert image.vif_model is None


def test_a_placeholder_alone_is_an_argument() -> None:
    text = "openstack image create <name> --property hw_vif_model=e1000 --os-distro @DISTRO@\n"
    assert _said(text) == [("<name>", [("hw_vif_model", "e1000"), ("os_distro", "@DISTRO@")])]
    assert [found.certain for found in _read(text)[0].properties] == [True, False]


def test_redirections_are_no_placeholders() -> None:
    text = "openstack image create x --property a=b <in >out 2>&1; cat <in>out\n"
    assert _said(text) == [("x", [("a", "b")])]


@rows
def test_the_name_of_an_image_is_shown_as_it_is_written_and_short(written: str, shown: str) -> None:
    (image,) = _read(f"openstack image create --property hw_vif_model=e1000 {written}\n")
    assert image.name == shown
