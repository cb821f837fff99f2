"""The table that libosinfo's answers were written to."""

from __future__ import annotations

import pytest

from vnicaudit.knowledge.readiness import emulated_model, shipped
from vnicaudit.model.openstack import VIF_MODELS


@pytest.mark.parametrize(
    ("os_distro", "model"),
    [
        ("ubuntu22.04", "e1000e"),
        ("ubuntu24.04", "e1000e"),
        ("debian12", "e1000e"),
        ("debianbookworm", "e1000e"),
        ("http://redhat.com/rhel/9.4", "e1000e"),
        ("freebsd14.0", "ne2k_pci"),
        ("ubuntu", None),
        ("windows", None),
        ("Ubuntu22.04", None),
        ("win2k22", None),
        ("cirros0.5.2", None),
    ],
)
def test_as_nova_answers(os_distro: str, model: str | None) -> None:
    assert emulated_model(os_distro) == model


def test_each_model_is_one_that_nova_takes() -> None:
    assert set(shipped().models.values()) <= VIF_MODELS - {"virtio"}


def test_it_says_which_it_is() -> None:
    assert (shipped().version, shipped().installed) == ("20250619", False)
