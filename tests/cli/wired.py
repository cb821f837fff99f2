"""The platforms of the program, some of whose targets are read otherwise."""

from collections.abc import Mapping

from msgspec.structs import replace

from vnicaudit.audit.reading.targets import Platform
from vnicaudit.cli.wiring.platforms import PLATFORMS, PlatformRegistry
from vnicaudit.model.finding import PlatformName


def platforms_with(otherwise: Mapping[PlatformName, Mapping[str, object]]) -> PlatformRegistry:
    """All platforms; of the targets of these, such fields of
    :class:`vnicaudit.audit.reading.targets.TargetKind` are others."""

    def changed(one: Platform) -> Platform:
        fields = otherwise.get(one.name, {})
        kinds = (replace(kind, **fields) for kind in one.targets)
        return replace(one, targets=tuple(kinds))

    return PlatformRegistry(changed(one) for one in PLATFORMS)
