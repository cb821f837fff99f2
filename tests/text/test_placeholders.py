"""What is a placeholder, and what only looks a little like one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vnicaudit.text.placeholders import is_only_placeholder, opened, placeholder_text

PLACEHOLDERS = (
    "{{ model }}", "{{.Values.model}}", "{{x}}", "{% if x %}a{% endif %}", "<%= @rx %>",
    "<%= x -%>", "${name}", "${NIC_MODEL:-virtio}", "$[[ inputs.model ]]", "$(MODEL)",
    "$(cat model)", "$MODEL", "$model", "$$MODEL", "@TX@", "@@TX@@", "@project.version@",
    "%TX%", "%(model)s", "%(queues)d", "%s", "%d", "{model}", "{nic.model}", "{nic[model]}",
    "{queues:d}", "{model!r}", "((model))", "((vault:nic.model))", "[[ model ]]", "[[model]]",
    "#{model}#", "#{model}", "<RX>", "<None>", "<your model>", "__MODEL__", "__rx_size__", "__X__",
    " ${x}\n",
)  # fmt: skip
VALUES = (
    "", " ", "virtio", "e1000", "256", "br-int", "vnet%d", "macvtap%d", "__x", "x__", "____",
    "52:54:00:00:00:01", "pc-q35-9.2", "$", "@", "%", "a$b", "me@host", "100%", "50%", "virtio_net",
    "{}", "[]", '{"address": "0000:01:00.0"}', '[{"a": "b"}]', '[["a", "b"]]', "[[1, 2]]",
    "qemu+ssh://%s/system", "instance-%08x", "$my_ip:6080", "/var/run/@x", "<", "<>", "< a",
    "#1", "((", "(a)", "%08x", "{", "_", "__", "(default)",
)  # fmt: skip


@pytest.mark.parametrize("text", PLACEHOLDERS)
def test_a_placeholder(text: str) -> None:
    assert is_only_placeholder(text)


@pytest.mark.parametrize("text", VALUES)
def test_a_value(text: str) -> None:
    assert not is_only_placeholder(text)


@pytest.mark.parametrize("text", ["a-${x}", "/run/{{ x }}/s", "q<%= n %>", "a{% if x %}", "a#{x}"])
def test_the_beginning_of_one_in_a_text(text: str) -> None:
    assert opened(text)
    assert not is_only_placeholder(text)


@pytest.mark.parametrize("text", ["vnet%d", "a$b", "me@host", "__x__", "{a}", "$(x)", "a % {b"])
def test_what_a_name_may_hold(text: str) -> None:
    assert not opened(text)


@given(st.text(alphabet="{}<>%$@#()[]_ab: \n", max_size=40))
def test_blanks_around_a_text_change_nothing(text: str) -> None:
    assert is_only_placeholder(text) == is_only_placeholder(f" {text}\n")


def test_a_long_one_is_cut_and_in_one_line() -> None:
    assert placeholder_text("${a\n  b}") == "${a b}"
    assert placeholder_text("${" + "x" * 99 + "}") == "${" + "x" * 37 + "…"
