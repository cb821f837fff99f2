"""Templates of domain XML are no domains: nothing in them is judged before they are filled in."""

from __future__ import annotations

import pytest

from vnicaudit.errors import TargetError
from vnicaudit.model.domain import Domain
from vnicaudit.platforms.domain_xml.read import read_bytes

DOMAIN = """\
<domain type='kvm'>
<name>a</name>
<vcpu current='2'>4</vcpu>
<os><type arch='x86_64' machine='q35'>hvm</type></os>
<devices>
<interface type='bridge'>
<mac address='52:54:00:00:00:01'/>
<source bridge='br-int'/>
<target dev='vnet%d'/>
<model type='virtio'/>
<driver name='vhost' queues='4' rx_queue_size='512' tx_queue_size='256'><host tso4='off'/></driver>
</interface>
</devices>
</domain>
"""
FORMS = (
    "${name}", "@TX@", "__MODEL__", "%(model)s", "%TX%", "#{x}", "#{x}#", "$(X)", "$X",
    "((model))", "[[ model ]]", "&lt;%= x %&gt;", "{model}", "{{x}}", "{{ x }}", "&lt;model&gt;",
)  # fmt: skip
JUDGED = (
    ("'kvm'", 1), ("'2'", 3), ("4<", 3), ("'x86_64'", 4), ("'q35'", 4), ("hvm", 4),
    ("'bridge'", 6), ("'52:54:00:00:00:01'", 7), ("'virtio'", 10), ("'vhost'", 11), ("'4'", 11),
    ("'512'", 11), ("'256'", 11), ("'off'", 11),
)  # fmt: skip
NAMES = ("'br-int'", "'vnet%d'", ">a<")


def _read(text: str) -> list[Domain]:
    return list(read_bytes(text.encode(), target="t", file="f.xml"))


def _error(text: str) -> TargetError:
    with pytest.raises(TargetError) as caught:
        _read(text)
    assert caught.value.file == "f.xml"
    return caught.value


def _put(value: str, placeholder: str) -> str:
    """The domain with a placeholder instead of a value, which is given with what surrounds it."""
    assert DOMAIN.count(value) == 1
    return DOMAIN.replace(value, value.replace(value.strip("<>'"), placeholder))


def _shown(form: str) -> str:
    return form.replace("&lt;", "<").replace("&gt;", ">")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("value", "line"), JUDGED)
def test_a_placeholder_in_what_is_judged(value: str, line: int, form: str) -> None:
    error = _error(_put(value, form))
    assert error.message == f"a template ({_shown(form)} in what is judged): fill it in first"
    assert error.line == line


@pytest.mark.parametrize("value", NAMES)
@pytest.mark.parametrize("form", ["@TX@", "__MODEL__", "%TX%", "$X", "$(X)", "{a}", "a%b$c@d_e__"])
def test_a_name_may_look_like_one(value: str, form: str) -> None:
    assert len(_read(_put(value, form))[0].nics) == 1


@pytest.mark.parametrize("value", NAMES)
@pytest.mark.parametrize("form", ["${net}", "a-{{ x }}", "x&lt;%= y %&gt;", "#{name}"])
def test_what_no_name_holds_is_one_anywhere(value: str, form: str) -> None:
    assert "a template (" in _error(_put(value, form)).message


def test_what_libvirt_itself_writes_is_none() -> None:
    (found,) = _read(DOMAIN)
    assert (found.nics[0].declared.model, found.declared.vcpus) == ("virtio", 2)


@pytest.mark.parametrize("text", ["${x} @Y@ {{ z }}", "&lt;%= z %&gt;", "__NAME__"])
def test_a_description_may_hold_anything(text: str) -> None:
    described = DOMAIN.replace("<vcpu", f"<description>{text}</description>\n<vcpu", 1)
    assert len(_read(described)[0].nics) == 1


def test_one_template_among_several_documents_costs_itself() -> None:
    found: list[Domain] = []
    with pytest.raises(TargetError, match=r"a template \(@M@ in what is judged\)") as caught:
        found.extend(read_bytes(f"{_put(chr(39) + 'virtio' + chr(39), '@M@')}{DOMAIN}".encode(),
                                target="t", file="f.xml"))  # fmt: skip
    assert caught.value.line == 10


@pytest.mark.parametrize(
    ("text", "mark", "line"),
    [
        (DOMAIN.replace(">4<", "><%= @n %><"), "<%= @n %>", 3),
        (DOMAIN.replace("'virtio'", "'<%= x %>'"), "<%= x %>", 10),
        (DOMAIN.replace("<source", "<% if x %>\n<source").replace("</dev", "<% end %></dev"),
         "<% if x %>", 8),
        (DOMAIN.replace("'virtio'", "{{ model }}"), "{{ model }}", 10),
        (DOMAIN.replace("<mac ", "{% if a < b %}\n<mac "), "{% if a < b %}", 7),
    ],
)  # fmt: skip
def test_a_template_that_is_no_xml_yet(text: str, mark: str, line: int) -> None:
    error = _error(text)
    assert error.message == f"a template ({mark}), no XML before it is filled in: fill it in first"
    assert error.line == line


def test_a_broken_document_without_placeholders_says_what_is_broken() -> None:
    assert _error(DOMAIN.replace("</devices>", "")).message.startswith("not well-formed XML: ")
