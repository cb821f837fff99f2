"""A damaged definition is read or refused with its file; nothing else happens."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.platforms.infra_code.test_shell import SCRIPT
from tests.platforms.infra_code.test_terraform import GUEST, HCL
from tests.platforms.infra_code.test_yaml_formats import PLAYBOOK, TEMPLATE
from vnicaudit.errors import TargetError
from vnicaudit.model.domain import Domain
from vnicaudit.model.openstack import Flavor, Image
from vnicaudit.platforms.infra_code import looks_like, read

SAMPLES = (SCRIPT, HCL, GUEST, PLAYBOOK, TEMPLATE)


@pytest.mark.parametrize("text", SAMPLES)
def test_each_sample_is_recognised(text: str) -> None:
    assert looks_like(text.encode())


@given(
    st.sampled_from(SAMPLES),
    st.integers(0, 1200),
    st.integers(0, 40),
    st.text(alphabet="{}[]()\"'$%:-#\\\n\t ax=\ufffc&*!|>", max_size=12),
)
def test_damage_is_survived(text: str, start: int, length: int, new: str) -> None:
    data = (text[:start] + new + text[start + length :]).encode()
    with suppress(TargetError):
        for found in read(data, target="t", file="f"):
            assert isinstance(found, Domain | Image | Flavor)
            assert found.location.file == "f"
            assert 1 <= (found.location.line or 1) <= data.count(b"\n") + 1
