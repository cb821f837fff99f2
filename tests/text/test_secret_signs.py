"""A text is called free of secrets only if the whole masking would change nothing in it."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vnicaudit.text
from tests.rows import rows
from tests.shares import examples
from vnicaudit.text import secret_names, secrets

ASCII = st.characters(codec="ascii")


def _patterns(value: object) -> Iterator[re.Pattern[Any]]:
    """Those that a value is, or holds."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, (dict, tuple, list, set, frozenset)):
        parts = (*value.keys(), *value.values()) if isinstance(value, dict) else value
        for part in parts:
            yield from _patterns(part)


EXPRESSIONS = [
    pytest.param(pattern, id=f"{module.name}.{name}")
    for module in pkgutil.iter_modules(vnicaudit.text.__path__, "vnicaudit.text.")
    if module.name.startswith("vnicaudit.text.secret")
    for name, value in vars(importlib.import_module(module.name)).items()
    for pattern in _patterns(value)
]
AROUND = (
    ("", " S3cr3tS3cr3t"), ("", "S3cr3tS3cr3t"), ("curl ", " x"), ("curl ", "joe:S3cr3t"),
    ("x ?", "S3cr3t"), ("", "\ndata:\n  a: S3cr3t\n"), ("-object ", ",data=S3cr3t"),
    ("-device ", ",string=S3cr3t"), ("<a ", "='S3cr3t'/>"), ("", " = S3cr3t\n"),
    ("<a><", ">S3cr3t</a>"), ("{", ': "S3cr3t"}'), ("mysql ", "S3cr3t"),
    ("echo root:S3cr3t | ", ""), ('variable "a" {\ndefault = "S3cr3t"\n', "\n}\n"),
    ("<qemu:env name='", "' value='S3cr3t'/>"),
)  # fmt: skip
"""What makes a secret of a match of one of them."""
CONTEXTS = (
    "{} = S3cr3t\n",
    "[a]\n{}=S3cr3t\n",
    "  - {}: S3cr3t\n",
    "x: {{{}: S3cr3t, y: 1}}\n",
    '{{"a": 1, "{}": "S3cr3t"}}\n',
    '{{"a": 1,\n"{}":\n"S3cr3t"}}\n',
    "<a {}='S3cr3t'/>\n",
    "<a x:{}='S3cr3t'/>\n",
    "<{0}>S3cr3t</{0}>\n",
    "<qemu:env name='{}' value='S3cr3t'/>\n",
    "<qemu:arg value='--{}'/>\n<qemu:arg value='S3cr3t'/>\n",
    "run --{} S3cr3t\n",
    "run --{} \\\n  S3cr3t\n",
    '["--{}", "S3cr3t"]\n',
    "<entry name='{}'>S3cr3t</entry>\n",
    "- name: {}\n  value: S3cr3t\n",
    "{{value: S3cr3t, name: {}}}\n",
    "name:{}value:S3cr3t\n",
    'variable "{}" {{\n  default = "S3cr3t"\n}}\n',
    "{}: |\n  S3cr3t\n",
    "rbd:pool/image:{}=S3cr3t:x\n",
    "-object secret,id=a,{}=S3cr3t\n",
    "-fw_cfg name=opt/x,{}=S3cr3t\n",
)
SECRETS = {
    "@": "url = rabbit://u:S3cr3t@h\n",
    "secret": "secret = S3cr3t\n",
    "token": "token = S3cr3t\n",
    "credential": "credential = S3cr3t\n",
    "cookie": "cookie = S3cr3t\n",
    "authorization": "authorization: S3cr3t\n",
    "blob": "auth_blob = S3cr3t\n",
    "hmac": "hmac = S3cr3t\n",
    "pw": "pwd = S3cr3t\n",
    "psk": "psk = S3cr3t\n",
    "sysprep": "sysprep = S3cr3t\n",
    "unattend": "unattend = S3cr3t\n",
    "ignition": "ignition = S3cr3t\n",
    "tls-creds": "-object tls-creds-x509,data=S3cr3t\n",
    "fw_cfg": "-fw_cfg name=a,string=S3cr3t\n",
    "fwcfg": "fwcfg,string=S3cr3t\n",
    "opt/": "<entry name='opt/a'>S3cr3t</entry>\n",
    "sensitive": 'variable "a" {\n  default = "S3cr3t"\n  sensitive = true\n}\n',
    "mysql": "mysql -pS3cr3t\n",
    "mariadb": "mariadb -pS3cr3t\n",
    "bearer": "x bearer S3cr3tS3cr3t\n",
    "basic ": "x basic S3cr3tS3cr3t\n",
    "basic\t": "x basic\tS3cr3tS3cr3t\n",
    "sig=": "x ?sig=S3cr3t\n",
    "signature=": "x &signature=S3cr3t\n",
    "-u": "curl -u joe:S3cr3t\n",
    "pass": "pass = S3cr3t\n",
    "key": "keys = S3cr3t\n",
    "data": "user-data = S3cr3t\n",
    "cloud": "cloudInit: S3cr3t\n",
}
SEPARATORS = ("", "_", *secret_names.SEPARATORS)
PARTS = (
    "admin passthrough", "private keyx", "api keyx", "access keyx", "fixed keyx", "hmac keyx",
    "encryption keyx", "key data", "keyData", "user datax", "vendor datax", "network datax",
    "cloud init", "cloud config", "x keys", "x key", "x pass", "x pwd", "pass phrasex",
    "pass codex", "auth blobx",
)  # fmt: skip
WORDS = (
    *SECRETS, "admin", "private", "api", "access", "user", "network", "init", "config", "through",
    "board", "map", "value", "name", "string", "chp", "ssh", "auth", "fixed", "code", "phrase",
    "KEY-----", "-----BEGIN RSA PRIVATE", "kind: S", "'", '"', "=", ":", ": ", " = ", ",", " ",
    "\n", "\n  ", "-", "_", ".", "/", "<", ">", "</", "/>", "{", "}", "[", "]", "|", "?", "&", "s",
    "S3cr3tS3cr3t", "x", "http://", "--", "curl ", "\u017f", "\u212a", "\u0131",
)  # fmt: skip


def _texts_of(expression: re.Pattern[Any]) -> st.SearchStrategy[str]:
    """Matches of the expression, half of them with something around."""
    whole = st.from_regex(expression, alphabet=ASCII, fullmatch=True)
    return whole | st.from_regex(expression, alphabet=ASCII)


def _assert_seen(text: str) -> None:
    """If the whole masking hides something in the text, there is a sign of it."""
    hidden = secrets._masked_text(text)
    assert hidden == text or secret_names.may_hold_secret(text)
    assert secrets.masked(text) == hidden
    assert hidden.count("\n") == text.count("\n")


@pytest.mark.parametrize(("sign", "text"), SECRETS.items())
def test_each_sign_alone_tells_of_a_secret(sign: str, text: str) -> None:
    low = text.lower()
    found = [one for one in secret_names._SIGNS if one in low]
    found += [one.word for one in secret_names._AMBIGUOUS if one.secret.search(low)]
    assert found == [sign]
    assert "S3cr3t" not in secrets.masked(text)


def test_each_sign_has_an_example() -> None:
    listed = [*secret_names._SIGNS, *(one.word for one in secret_names._AMBIGUOUS)]
    assert sorted(listed) == sorted(SECRETS)


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("words", PARTS)
def test_words_of_a_name_are_seen_however_they_are_joined(words: str, context: str) -> None:
    for separator in SEPARATORS:
        name = words.replace(" ", separator)
        _assert_seen(context.format(name))
        _assert_seen(context.format(name.upper()))


@settings(max_examples=examples(600), deadline=None)
@given(
    _texts_of(secret_names._LIKELY_NAME).map(str.strip),
    st.sampled_from(CONTEXTS),
    st.sampled_from(SEPARATORS),
    st.sampled_from((str, str.upper, str.title)),
)
def test_whatever_has_the_name_of_a_secret_is_masked(
    name: str, context: str, separator: str, case: type[str]
) -> None:
    _assert_seen(context.format(case(name.replace("_", separator))))


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_whatever_an_expression_of_the_masking_finds_is_seen(expression: re.Pattern[Any]) -> None:
    @settings(max_examples=examples(60), deadline=None)
    @given(_texts_of(expression), st.sampled_from(AROUND))
    def test(text: str, around: tuple[str, str]) -> None:
        _assert_seen(f"{around[0]}{text}{around[1]}")

    test()


@settings(max_examples=examples(800), deadline=None)
@given(
    st.lists(st.sampled_from(WORDS), max_size=20).map("".join),
    st.sampled_from(("", *SECRETS.values())),
    st.lists(st.sampled_from(WORDS), max_size=5).map("".join),
)
def test_no_mixture_of_words_hides_a_secret(before: str, secret: str, behind: str) -> None:
    _assert_seen(f"{before}{secret}{behind}")


@settings(max_examples=examples(500), deadline=None)
@given(
    st.sampled_from((*SECRETS.values(), *(one.format("adminPass") for one in CONTEXTS))),
    st.lists(st.tuples(st.integers(0, 99), st.sampled_from(WORDS)), max_size=3),
)
def test_no_secret_with_something_inserted_is_missed(
    text: str, inserted: list[tuple[int, str]]
) -> None:
    for at, word in inserted:
        text = text[:at] + word + text[at:]
    _assert_seen(text)


@pytest.mark.parametrize("text", [
    "curl --user joe:S3cr3t\n", "curl -u    joe:S3cr3t\n", "x ba\u017fic S3cr3tS3cr3t\n",
])  # fmt: skip
def test_other_spellings_of_a_sign_are_seen(text: str) -> None:
    assert "S3cr3t" not in secrets.masked(text)


@rows
def test_a_secret_is_hidden_however_long_its_name_is(name: str) -> None:
    assert secret_names.is_secret_name(name)
    assert "S3cr3t" not in secrets.masked(f"{name} = S3cr3t\n")


@pytest.mark.parametrize("tag", ["<a name='X_PASSWORD' value=\n'{}'/>", "<a passwd=\n'{}'/>"])
@pytest.mark.parametrize("value", ["S3cr3t", "S3\ncr3t"])
def test_a_value_on_the_next_line_is_masked_there(tag: str, value: str) -> None:
    text = f"<x>\n{tag.format(value)}\n</x>\n"
    hidden = secrets.masked(text)
    assert "cr3t" not in hidden
    assert hidden.count("\n") == text.count("\n")


def test_a_long_name_does_not_end_where_its_beginning_ends() -> None:
    """``may_hold_secret`` sees "passthrough", and no name that ends with "pass"."""
    assert not secret_names.is_secret_name("a" * 195 + "_pass" + "through" + "a" * 1000)


def test_an_ordinary_definition_is_not_masked_for_its_words() -> None:
    assert not secret_names.may_hold_secret("""\
<?xml version="1.0" encoding="UTF-8"?>
<domain type='kvm' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
  <metadata><nova:instance xmlns:nova="http://openstack.org/xmlns/libvirt/nova/1.1"/></metadata>
  <cpu mode='host-passthrough' check='none' migratable='on'/>
  <os><loader readonly='yes' type='pflash'>/usr/share/OVMF/OVMF_CODE.fd</loader></os>
  <devices>
    <interface type='direct'><source dev='eth0' mode='passthrough'/></interface>
    <input type='keyboard' bus='ps2'/>
    <graphics type='vnc' port='-1' autoport='yes' keymap='en-us'/>
    <memballoon model='virtio'><stats period='10'/></memballoon>
  </devices>
</domain>
""")
