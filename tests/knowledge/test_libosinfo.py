"""The table that libosinfo's answers were written to."""

from tests.rows import rows
from vnicaudit.knowledge.readiness import emulated_model, shipped
from vnicaudit.model.openstack import VIF_MODELS


@rows
def test_as_nova_answers(os_distro: str, model: str | None) -> None:
    assert emulated_model(os_distro) == model


def test_each_model_is_one_that_nova_takes() -> None:
    assert set(shipped().models.values()) <= VIF_MODELS - {"virtio"}


def test_it_says_which_it_is() -> None:
    assert shipped().version == "20250619"
