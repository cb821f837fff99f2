"""All platforms, with clouds and hosts that a test makes up in the place of real ones."""

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from vnicaudit.audit.reading.targets import CloudReading, TargetKind
from vnicaudit.cli.wiring.platforms import PLATFORMS, PlatformRegistry
from vnicaudit.model.fleet import LiveDefinition, LiveDomain, LiveOptions
from vnicaudit.model.host import Host
from vnicaudit.model.report import ReadError

ReadCloud = Callable[[str, LiveOptions], CloudReading]
ReadHost = Callable[[str, LiveOptions], Iterator[Host | LiveDomain | ReadError]]
ReadDefinitions = Callable[[str, LiveOptions], Iterator[Host | LiveDefinition | ReadError]]


def platforms_with(
    *,
    cloud: ReadCloud | None = None,
    read: ReadHost | None = None,
    definitions: ReadDefinitions | None = None,
) -> PlatformRegistry:
    """``cloud``: reads every cloud; ``read``: every host of libvirt's that is audited;
    ``definitions``: every one that is planned."""

    def replaced(kind: TargetKind) -> TargetKind:
        if kind.cloud is not None and cloud is not None:
            plain = TargetKind(kind.kind, kind.name_of)  # what it needs need not be there
            return replace(plain, cloud=cloud)
        if kind.definitions is not None and read is not None:
            plain = TargetKind(kind.kind, kind.name_of, definitions=kind.definitions)
            return replace(plain, read=read)
        if kind.definitions is not None and definitions is not None:
            return replace(kind, definitions=definitions)
        return kind

    return PlatformRegistry(
        replace(one, targets=tuple(map(replaced, one.targets))) for one in PLATFORMS
    )
