"""What is domain XML, and what only talks about it."""

from __future__ import annotations

import pytest

from vnicaudit.platforms.domain_xml.recognise import looks_like_xml

DOMAIN = "<domain type='kvm'><name>a</name></domain>\n"
WARNING = "<!--\nWARNING: THIS IS AN AUTO-GENERATED FILE.\n  virsh edit a\n-->\n\n"


@pytest.mark.parametrize(
    "text",
    [
        DOMAIN,
        "\n\n  " + DOMAIN,
        "\ufeff" + DOMAIN,
        "<?xml version='1.0'?>" + DOMAIN,
        "<?xml version='1.0'?>\r\n" + DOMAIN,
        WARNING + DOMAIN,
        "<!-- a --><!-- b -->" + DOMAIN,
        "<network>\n<name>n</name>\n</network>" + DOMAIN,
        "<domstatus state='running' reason='booted' pid='1'>\n" + DOMAIN + "</domstatus>",
        "2026-11-21 01:02:03.4+0000: 123: info : libvirt version: 9.0.0\n" + DOMAIN,
        "$ virsh dumpxml a\n" + DOMAIN,
        "<network/>\n" * 50 + DOMAIN,
    ],
)
def test_domain_xml(text: str) -> None:
    assert looks_like_xml(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The `<domain>` element is the root.\n",
        "See <domain> for more.\n",
        '{"message": {"text": "in <domain type=\'kvm\'> the"}}',
        "xml = '<domain type=\"kvm\">'\n",
        "# Guests\n\nWrite this:\n\n```xml\n" + DOMAIN + "```\n",
        "~~~\n" + DOMAIN,
        "import sys\n" * 20 + "DOMAIN = '''\n" + DOMAIN + "'''\n",
        "<domainCapabilities>\n",
        "<domains>\n",
    ],
)
def test_what_is_about_domain_xml(text: str) -> None:
    assert not looks_like_xml(text.encode())
