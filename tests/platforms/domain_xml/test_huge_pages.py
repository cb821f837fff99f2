"""Memory of huge pages that a guest needs to start."""

import pytest

from vnicaudit.platforms.domain_xml.definitions import definition_of

_HUGE = "<memoryBacking><hugepages/></memoryBacking>"


@pytest.mark.parametrize(
    ("inside", "kib"),
    [
        (f"<memory>4194304</memory>{_HUGE}", 4194304),
        (f"<maxMemory>9</maxMemory><memory unit='GiB'>2</memory>{_HUGE}", 2097152),
        (f"<memory unit='GiB'>two</memory>{_HUGE}", None),
        (_HUGE, None),
        ("<memory>4194304</memory><memoryBacking><locked/></memoryBacking>", None),
    ],
)
def test_the_memory_of_a_guest_in_huge_pages(inside: str, kib: int | None) -> None:
    assert definition_of(f"<domain type='kvm'>{inside}</domain>".encode(), "d").huge_kib == kib
