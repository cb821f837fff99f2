"""Facts of KubeVirt by its version; of an unknown one nothing is known."""

from tests.rows import rows
from vnicaudit.knowledge import kubevirt_versions as versions

NO_GATES = frozenset[str]()
GATE = frozenset({"LiveUpdateNADRef"})


@rows
def test_facts_of_a_version(
    version: str, rollout: str, blocked: bool, live: bool, gated: bool
) -> None:
    assert versions.is_known(version)
    assert versions.default_rollout(version) == rollout
    assert versions.multiqueue_blocks_cpu_hotplug(version) is blocked
    assert versions.changes_attachment_live(version, NO_GATES) is live
    assert versions.changes_attachment_live(version, GATE) is gated


@rows
def test_of_an_unknown_version_nothing_is_known(version: str) -> None:
    for each in (version, None):
        assert not versions.is_known(each)
        assert versions.default_rollout(each) is None
        assert versions.multiqueue_blocks_cpu_hotplug(each) is None
        assert versions.changes_attachment_live(each, GATE) is None
