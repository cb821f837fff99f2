"""Patches of objects of a cluster."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from tests.rows import rows
from vnicaudit.knowledge.kube_changes import may_change
from vnicaudit.model.decoding import value_at
from vnicaudit.model.plan import ClusterKind, PatchLine, VmUnit
from vnicaudit.remedy.cluster_patch import guarded_patch, inverse, json_patch, located, patch_diff

DEVICES = "/spec/template/spec/domain/devices"
MODEL = PatchLine(f"{DEVICES}/interfaces/1/model", "back", "e1000", "virtio")
QUEUES = PatchLine(f"{DEVICES}/networkInterfaceMultiqueue", after=True)


def _vm(*names: str) -> dict[str, Any]:
    interfaces = [{"name": name, "model": "e1000"} for name in names]
    return {"spec": {"template": {"spec": {"domain": {"devices": {"interfaces": interfaces}}}}}}


def test_every_operation_is_guarded() -> None:
    assert guarded_patch((MODEL, QUEUES), "uid-1", "7") == [
        {"op": "test", "path": "/metadata/uid", "value": "uid-1"},
        {"op": "test", "path": "/metadata/resourceVersion", "value": "7"},
        {"op": "test", "path": f"{DEVICES}/interfaces/1/name", "value": "back"},
        {"op": "test", "path": f"{DEVICES}/interfaces/1/model", "value": "e1000"},
        {"op": "replace", "path": f"{DEVICES}/interfaces/1/model", "value": "virtio"},
        {"op": "add", "path": f"{DEVICES}/networkInterfaceMultiqueue", "value": True},
    ]


def test_the_inverse_tests_our_value_and_takes_away_what_was_not_there() -> None:
    assert json_patch(inverse((MODEL, QUEUES))) == [
        {"op": "test", "path": f"{DEVICES}/networkInterfaceMultiqueue", "value": True},
        {"op": "remove", "path": f"{DEVICES}/networkInterfaceMultiqueue"},
        {"op": "test", "path": f"{DEVICES}/interfaces/1/name", "value": "back"},
        {"op": "test", "path": f"{DEVICES}/interfaces/1/model", "value": "virtio"},
        {"op": "replace", "path": f"{DEVICES}/interfaces/1/model", "value": "e1000"},
    ]


@pytest.mark.parametrize(
    ("names", "index"),
    [(("front", "back"), 1), (("back",), 0), (("a", "b", "back"), 2), (("front",), None),
     (("back", "back"), None), ((), None)],
)  # fmt: skip
def test_an_interface_is_found_by_its_name(names: tuple[str, ...], index: int | None) -> None:
    found = located((MODEL, QUEUES), _vm(*names))
    if index is None:
        assert found is None
    else:
        assert found is not None
        assert [one.path for one in found] == [
            f"{DEVICES}/interfaces/{index}/model", QUEUES.path
        ]  # fmt: skip


def test_values_are_read_by_pointers() -> None:
    found = _vm("front", "back")
    before = deepcopy(found)
    assert value_at(found, MODEL.path) == "e1000"
    for path in (QUEUES.path, f"{DEVICES}/interfaces/2/model", f"{MODEL.path}/deeper", "/status"):
        assert value_at(found, path) is None
    assert found == before


def test_the_diff_has_the_old_and_the_new_value_of_each_field() -> None:
    assert patch_diff(VmUnit("u", "shop", "web", (MODEL, QUEUES))) == (
        "--- shop/web\n+++ shop/web\n"
        f'@@ {MODEL.path} (back) @@\n-"e1000"\n+"virtio"\n'
        f"@@ {QUEUES.path} @@\n+true\n"
    )


@rows
def test_only_known_fields_may_change(kind: ClusterKind, path: str, may: bool) -> None:
    assert may_change(kind, path) is may
