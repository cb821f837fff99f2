"""A text is called free of secrets only if the whole masking would change nothing in it."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from vnicaudit.text import secret_names, secret_signs, secrets

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


def _told(text: str) -> None:
    hidden = secrets._masked_text(text)
    assert hidden == text or secret_signs.may_hold_secret(text)
    assert secrets.masked(text) == hidden


@pytest.mark.parametrize(("sign", "text"), SECRETS.items())
def test_each_sign_alone_tells_of_a_secret(sign: str, text: str) -> None:
    found = [one for one in secret_signs._SIGNS if one in text.lower()]
    finer = [word for word, finer in secret_signs._FINER if finer.search(text.lower())]
    assert [*found, *finer] == [sign]
    assert "S3cr3t" not in secrets.masked(text)


def test_each_sign_has_an_example() -> None:
    listed = [*secret_signs._SIGNS, *(word for word, _finer in secret_signs._FINER)]
    assert sorted(listed) == sorted(SECRETS)


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("words", PARTS)
def test_words_of_a_name_are_seen_however_they_are_joined(words: str, context: str) -> None:
    for separator in ("", "_", "-", ".", ":", "/", " "):
        name = words.replace(" ", separator)
        _told(context.format(name))
        _told(context.format(name.upper()))


@settings(max_examples=1500, deadline=None)
@given(
    st.from_regex(secret_names._LIKELY_NAME).map(lambda name: name.strip()),
    st.sampled_from(CONTEXTS),
    st.sampled_from(("", "_", "-", ".", ":", "/", " ")),
    st.sampled_from((str, str.upper, str.title)),
)
@example("a" * 197 + "_pass" + "through" + "b" * 300, CONTEXTS[9], "", str)
def test_whatever_has_the_name_of_a_secret_is_masked(
    name: str, context: str, separator: str, case: type[str]
) -> None:
    _told(context.format(case(name.replace("_", separator))))


@settings(max_examples=1500, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=30).map("".join))
def test_no_mixture_of_words_hides_a_secret(text: str) -> None:
    _told(text)


@settings(max_examples=500, deadline=None)
@given(
    st.sampled_from((*SECRETS.values(), *(one.format("adminPass") for one in CONTEXTS))),
    st.lists(st.tuples(st.integers(0, 99), st.sampled_from(WORDS)), max_size=3),
)
def test_no_secret_with_something_inserted_is_missed(
    text: str, inserted: list[tuple[int, str]]
) -> None:
    for at, word in inserted:
        text = text[:at] + word + text[at:]
    _told(text)


@pytest.mark.parametrize("text", ["curl --user joe:S3cr3t\n", "x ba\u017fic S3cr3tS3cr3t\n"])
def test_other_spellings_of_a_sign_are_seen(text: str) -> None:
    assert "S3cr3t" not in secrets.masked(text)


def test_a_long_name_is_examined_at_both_ends_and_ends_only_there() -> None:
    assert secret_names.is_secret_name("a" * 1000 + "_pass")
    assert secret_names.is_secret_name("password" + "a" * 1000)
    assert not secret_names.is_secret_name("a" * 195 + "_pass" + "through" + "a" * 1000)


def test_an_ordinary_definition_is_not_masked_for_its_words() -> None:
    assert not secret_signs.may_hold_secret("""\
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
