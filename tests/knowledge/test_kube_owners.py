"""The owner of an object by its marks, and where a change of it belongs."""

from typing import Any

from tests.rows import rows
from vnicaudit.knowledge.kube_owners import Marks, OwnerReference, owners_of
from vnicaudit.knowledge.kube_owners import route as words_of


@rows
def test_owner_and_route(marks: dict[str, Any], owner: str, route: str) -> None:
    references = tuple(
        OwnerReference(kind, name, controls=controls)
        for kind, name, controls in marks.get("references", ())
    )
    owners = owners_of(Marks(marks.get("labels", {}), marks.get("annotations", {}), references))
    found = owners[0] if owners else None
    assert ("" if found is None else found.name) == owner
    assert words_of(found) == route
