"""The default model of every architecture and machine, as ``qemuDomainDefaultNetModel`` has it."""

from tests.rows import rows
from vnicaudit.knowledge.models import default_model


@rows
def test_default_model(arch: str, machine: str | None, model: str) -> None:
    assert default_model(arch, machine) == model
