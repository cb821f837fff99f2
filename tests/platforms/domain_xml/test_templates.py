"""Templates of domain XML: what is literal is read, what is to be filled in is unknown."""

import re

import pytest

from tests.rows import rows
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
JUDGED = {
    "'kvm'": ("type",), "'2'": ("vcpus",), "4<": ("vcpus",), "'x86_64'": ("arch",),
    "'q35'": ("machine",),
}  # fmt: skip
OF_THE_NIC = {
    "'bridge'": "type", "'virtio'": "model", "'vhost'": "driver_name", "'4'": "queues",
    "'512'": "rx_queue_size", "'256'": "tx_queue_size", "'off'": "host_off",
}  # fmt: skip
NAMES = ("'br-int'", "'vnet%d'", ">a<")


def _read(text: str) -> list[Domain]:
    return list(read_bytes(text.encode(), target="t", file="f.xml"))


def _put(value: str, placeholder: str) -> str:
    """The domain with a placeholder instead of a value, which is given with what surrounds it."""
    assert DOMAIN.count(value) == 1
    return DOMAIN.replace(value, value.replace(value.strip("<>'"), placeholder))


def _shown(form: str) -> str:
    return form.replace("&lt;", "<").replace("&gt;", ">")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("value", JUDGED)
def test_a_placeholder_in_what_is_judged_of_the_domain(value: str, form: str) -> None:
    (domain,) = _read(_put(value, form))
    assert domain.declared.unseen == JUDGED[value]
    assert domain.template == _shown(form)
    assert domain.nics[0].declared.unseen == ()
    assert domain.declared.arch == ("x86_64" if value != "'x86_64'" else None)
    assert domain.declared.machine == ("q35" if value != "'q35'" else None)
    assert domain.declared.vcpus == (None if "vcpus" in JUDGED[value] else 2)
    assert domain.declared.type == ("kvm or qemu" if value == "'kvm'" else "kvm")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("value", OF_THE_NIC)
def test_a_placeholder_in_what_is_judged_of_a_nic(value: str, form: str) -> None:
    (domain,) = _read(_put(value, form))
    config = domain.nics[0].declared
    assert config.unseen == (OF_THE_NIC[value],)
    assert config.invalid == ()
    assert config.model == (None if value == "'virtio'" else "virtio")
    assert domain.template == _shown(form)


@pytest.mark.parametrize("form", FORMS)
def test_a_placeholder_for_a_mac_address_is_none(form: str) -> None:
    (domain,) = _read(_put("'52:54:00:00:00:01'", form))
    assert (domain.nics[0].mac, domain.nics[0].declared.unseen) == (None, ())


@pytest.mark.parametrize("value", NAMES)
@pytest.mark.parametrize("form", ["@TX@", "__MODEL__", "%TX%", "$X", "$(X)", "{a}", "a%b$c@d_e__"])
def test_a_name_may_look_like_one(value: str, form: str) -> None:
    assert len(_read(_put(value, form))[0].nics) == 1


@pytest.mark.parametrize("value", NAMES)
@pytest.mark.parametrize("form", ["${net}", "a-{{ x }}", "x&lt;%= y %&gt;", "#{name}"])
def test_what_no_name_holds_is_one_anywhere(value: str, form: str) -> None:
    (domain,) = _read(_put(value, form))
    assert domain.template == _shown(form)
    assert domain.declared.unseen == domain.nics[0].declared.unseen == ()


def test_what_libvirt_itself_writes_is_none() -> None:
    (found,) = _read(DOMAIN)
    assert (found.nics[0].declared.model, found.declared.vcpus) == ("virtio", 2)


@pytest.mark.parametrize("text", ["${x} @Y@ {{ z }}", "&lt;%= z %&gt;", "__NAME__"])
def test_a_description_may_hold_anything(text: str) -> None:
    described = DOMAIN.replace("<vcpu", f"<description>{text}</description>\n<vcpu", 1)
    assert len(_read(described)[0].nics) == 1


def test_one_template_among_several_documents_costs_nothing_but_its_own() -> None:
    first, second = _read(f"{_put(chr(39) + 'virtio' + chr(39), '@M@')}{DOMAIN}")
    assert (first.nics[0].declared.unseen, first.template) == (("model",), "@M@")
    assert (second.nics[0].declared.model, second.template) == ("virtio", "")


@rows
def test_a_template_whose_tags_are_no_xml_is_read(text: str, tag: str) -> None:
    (domain,) = _read(text)
    assert domain.template == tag
    assert len(domain.nics) == 1
    assert domain.unjudged == ""


def test_a_condition_around_a_part_of_a_nic_makes_all_of_it_unknown() -> None:
    (domain,) = _read(
        DOMAIN.replace("<model", "{% if a %}<model").replace("type='virtio'/>",
                                                             "type='virtio'/>{% endif %}")
    )  # fmt: skip
    assert domain.nics[0].declared.unseen == ("*",)


@pytest.mark.parametrize(
    ("around", "unseen"),
    [
        ("<vcpu current='2'>4</vcpu>", {"vcpus"}),
        ("<os><type arch='x86_64' machine='q35'>hvm</type></os>", {"os", "machine", "arch"}),
        ("<interface type='bridge'>.*</interface>", {"guest"}),
    ],
)
@rows
def test_a_condition_makes_unknown_what_it_surrounds(
    around: str, unseen: set[str], before: str, behind: str
) -> None:
    text = re.sub(around, lambda found: before + found[0] + behind, DOMAIN, flags=re.DOTALL)
    assert text != DOMAIN
    (domain,) = _read(text)
    assert set(domain.declared.unseen) == unseen
    assert domain.nics[0].declared.model == "virtio"


@pytest.mark.parametrize("tag", ["{{ nics }}", "{% include 'nics.xml' %}", "<%= nics %>"])
def test_what_is_put_in_may_be_more_nics(tag: str) -> None:
    (domain,) = _read(DOMAIN.replace("</devices>", f"{tag}</devices>"))
    assert "inserted" in domain.declared.unseen


@pytest.mark.parametrize("tag", ["{% if a %}", "<% if a %>", "{{ if .A }}"])
def test_a_template_that_no_parser_reads_is_not_judged(tag: str) -> None:
    end = "{{ end }}"
    (domain,) = _read(DOMAIN.replace("<devices>", f"{tag}<devices>{end}{tag}<devices>{end}"))
    assert (domain.name, domain.nics) == ("a", ())
    assert domain.unjudged == f"the rendered definition: here a template decides ({tag})"


def test_a_broken_document_says_what_is_broken() -> None:
    for text in (DOMAIN, DOMAIN.replace("br-int", "{{ x }}")):
        with pytest.raises(TargetError, match="not well-formed XML: "):
            _read(text.replace("</devices>", ""))
