"""URLs of endpoints."""

import sys
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adapters import open_endpoint
from vnicaudit.bench.endpoints import opening
from vnicaudit.bench.endpoints.opening import FORMS, address_option, parse
from vnicaudit.errors import MissingExtraError, UsageError

LISTED = (
    "agent://DOMAIN[?connect=LIBVIRT-URI], docker://[USER@]CONTAINER,"
    " kubectl://POD[?container=C&namespace=N&context=X], local, netns://NAME,"
    " podman://[USER@]CONTAINER, ssh://[USER@]HOST[:PORT]"
)


def test_each_scheme_has_a_transport() -> None:
    assert tuple(FORMS) == ("agent", "docker", "kubectl", "local", "netns", "podman", "ssh")
    assert ", ".join(each.form for each in FORMS.values()) == LISTED


@pytest.mark.parametrize(
    "url",
    ["", "web01", "/etc", "http://web01", "ssh:web01", "ssh", "LOCAL", "localhost", "telnet://x",
     "../local://x", "__init__://x", "local:", "winrm://h"],
)  # fmt: skip
def test_what_is_no_endpoint_is_told_the_forms_there_are(url: str) -> None:
    with pytest.raises(UsageError) as error:
        open_endpoint(url)
    assert str(error.value) == f"invalid endpoint {url!r}; supported forms: {LISTED}"


@pytest.mark.parametrize(
    ("url", "name", "options"),
    [
        ("local", "", {}),
        ("local://", "", {}),
        ("local?address=192.0.2.1&sudo=true", "", {"sudo": "true"}),
        ("netns://blue", "blue", {}),
        ("ssh://root@[2001:db8::1]:2222", "root@[2001:db8::1]:2222", {}),
        ("ssh://web01/", "web01", {}),
        ("agent://my%20vm", "my vm", {}),
        ("agent://web01?connect=qemu+ssh://root@kvm7/system", "web01",
         {"connect": "qemu+ssh://root@kvm7/system"}),
        ("kubectl://pod-1?container=c&namespace=n&context=x&address=2001:db8::2", "pod-1",
         {"container": "c", "namespace": "n", "context": "x"}),
    ],
)  # fmt: skip
def test_a_url_is_taken_apart(url: str, name: str, options: dict[str, str]) -> None:
    where = parse(url)
    assert (where.url, where.name, where.options) == (url, name, options)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ssh://h?sodu=true",
         (
             "ssh://h?sodu=true: ssh:// has no option 'sodu'; use address, known_hosts, "
             "ssh_config, ssh_identity_file, sudo, sudo_user"
         )),
        ("netns://x?sudo=maybe",
         "netns://x?sudo=maybe: sudo= must be true or false, not 'maybe'"),
        ("local?sudo", "local?sudo: write options as NAME=VALUE, each once, separated by &"),
        ("local?sudo=true&sudo=true",
         "local?sudo=true&sudo=true: write options as NAME=VALUE, each once, separated by &"),
        ("local://here", "local://here: expected local, without a name"),
        ("ssh://h/etc",
         "ssh://h/etc: only options may follow the name; expected ssh://[USER@]HOST[:PORT]"),
        ("netns://a;b", "netns://a;b: not the name of a network namespace; expected netns://NAME"),
        ("netns://", "netns://: not the name of a network namespace; expected netns://NAME"),
        ("netns://-a", "netns://-a: not the name of a network namespace; expected netns://NAME"),
        ("ssh://-oProxyCommand=reboot",
         "ssh://-oProxyCommand=reboot: not an endpoint; expected ssh://[USER@]HOST[:PORT]"),
        ("ssh://%2doProxyCommand",
         "ssh://%2doProxyCommand: not an endpoint; expected ssh://[USER@]HOST[:PORT]"),
        ("ssh://h ls", "ssh://h ls: not an endpoint; expected ssh://[USER@]HOST[:PORT]"),
        ("docker://", "docker://: not an endpoint; expected docker://[USER@]CONTAINER"),
        ("podman://a b", "podman://a b: not an endpoint; expected podman://[USER@]CONTAINER"),
        ("kubectl://p?context=$(reboot)",
         "kubectl://p?context=$(reboot): context= has a character that is not allowed"),
        ("kubectl://p?namespace=-A",
         "kubectl://p?namespace=-A: namespace= has a character that is not allowed"),
        ("agent://", "agent://: the domain is missing; expected agent://DOMAIN[?connect=LIBVIRT-URI]"),
        ("agent://d?connect=here",
         "agent://d?connect=here: connect= must be a libvirt URI, such as qemu:///system"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_said(url: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        open_endpoint(url)
    assert str(error.value) == message


@pytest.mark.parametrize("url", ["ssh://root:s3cret@web01", "docker://u:s3cret@c"])
def test_a_password_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(UsageError, match="does not accept a password") as error:
        open_endpoint(url)
    assert "s3cret" not in str(error.value)


def test_a_url_may_say_where_that_end_is_reached() -> None:
    assert address_option("local?address=192.0.2.1") == "192.0.2.1"
    assert address_option("ssh://h?sudo=true&address=2001:DB8::0001") == "2001:db8::1"
    assert address_option("agent://web01") is None
    assert address_option("local?address=web01.example.org") == "web01.example.org"


@pytest.mark.parametrize(
    "text", ["", "192.0.2.0/24", "192.0.2", "fe80::1%25eth0", "-1", "web 1", "a..b"]
)
def test_an_address_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"address= must be an IP address or a host name, not '"):
        address_option(f"local?address={text}")


@pytest.mark.parametrize("scheme", ["ssh", "docker", "podman", "kubectl"])
def test_what_is_not_installed_is_named(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "testinfra", None)
    monkeypatch.setitem(sys.modules, "testinfra.backend", None)
    with pytest.raises(MissingExtraError) as error:
        open_endpoint(f"{scheme}://web01")
    assert error.value.extra == "hosts"
    assert str(error.value).startswith(f"{scheme}:// needs ")


def test_this_machine_needs_nothing_that_is_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "testinfra", None)
    with closing(open_endpoint("local?address=192.0.2.1")) as session:
        assert session.url == "local?address=192.0.2.1"
        assert session.run(["echo", "here"]).stdout == "here\n"


@given(st.one_of(
    st.text(),
    st.builds("{}://{}".format, st.sampled_from(list(FORMS)), st.text()),
    st.builds("{}://{}?{}={}".format, st.sampled_from(list(FORMS)), st.text(),
              st.sampled_from(("sudo", "address", "connect", "context")), st.text()),
))  # fmt: skip
def test_any_text_is_taken_apart_or_refused(text: str) -> None:
    for read in (parse, address_option):
        try:
            read(text)
        except UsageError:
            continue


def test_no_extra_is_loaded_before_an_endpoint_is_opened() -> None:
    """What a transport needs is imported when one is opened."""
    code = (
        "import sys; from vnicaudit.bench.endpoints import opening;"
        "print([m for m in ('libvirt', 'testinfra', 'click') if m in sys.modules])"
    )
    with closing(open_endpoint("local")) as session:
        assert session.run([sys.executable, "-c", code]).stdout == "[]\n"
    assert opening.ADDRESS == "address"
