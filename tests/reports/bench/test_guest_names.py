"""Guests are called by their names."""

from msgspec.structs import replace

from tests.reports.bench.golden import written
from tests.reports.bench.samples import VM_PATH, two_arms
from vnicaudit.model.measurement import BenchResult, Decision, GuardRail, Setup
from vnicaudit.reports.bench.labels import with_guest_names
from vnicaudit.reports.writers import Options

UUID = "1d05102d-34ca-4c3b-8f1c-5a1f9d8f2f11"
URL = f"agent://{UUID}?connect=qemu:///system"


def by_uuid(connect: str = "qemu:///system") -> BenchResult:
    """As `apply` measures a guest."""
    result, url = two_arms(), f"agent://{UUID}?connect={connect}"
    path = replace(VM_PATH, target=url, domain=UUID, guest="web01")
    bad = replace(result.samples[0], valid=False, reason=f"{url}: gone")
    return replace(
        result,
        paths=(replace(path, name="before"), replace(path, name="after")),
        environment=(Setup(url, {"kernel": "6.1"}),),
        samples=(*result.samples, bad),
        guard_rails=(GuardRail("ping", "after", "failed", f"{url} is silent"),),
        decision=Decision(verdict="regressed", action="roll-back", reasons=(f"{url}: lost",)),
    )


def test_everything_for_people_has_the_name() -> None:
    named = with_guest_names(by_uuid())
    assert [path.target for path in named.paths] == ["agent://web01"] * 2
    assert named.environment[0].endpoint == "agent://web01"
    assert named.samples[-1].reason == "agent://web01: gone"
    assert named.guard_rails[0].detail == "agent://web01 is silent"
    assert named.decision is not None
    assert named.decision.reasons == ("agent://web01: lost",)
    for name in ("text", "markdown", "html"):
        assert UUID not in written(name, by_uuid(), Options(verbose=True))


def test_the_host_of_a_guest_elsewhere_is_still_said() -> None:
    named = with_guest_names(by_uuid("qemu+ssh://kvm7/system"))
    assert named.paths[0].target == "agent://web01?connect=qemu+ssh://kvm7/system"


def test_the_document_keeps_the_uuid() -> None:
    assert URL in written("json", by_uuid())


def test_what_has_its_name_already_is_left_alone() -> None:
    result = two_arms()
    assert with_guest_names(result) is result
