"""Changes in model terms -> properties of images."""

from tests.rows import rows_of_tuples
from vnicaudit.knowledge.nova_releases import property_of
from vnicaudit.model.finding import Change


@rows_of_tuples
def test_a_property_comes_of_what_nova_has_one_for(
    field: str, old: str | None, new: str | None, property_: tuple[str, str] | None
) -> None:
    assert property_of(Change(field, old, new, safe=True)) == property_
