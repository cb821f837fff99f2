"""Files to plan, apply and take back."""

from pathlib import Path

from tests.remedy.planning.planned import definition, interface

E1000 = definition(interface("e1000"))
VIRTIO = E1000.replace("e1000", "virtio")


def several(folder: Path, number: int) -> list[Path]:
    """Definitions of guests ``g1`` … in a folder, each with an e1000."""
    folder.mkdir(exist_ok=True)
    paths = [folder / f"g{one}.xml" for one in range(1, number + 1)]
    for one, path in enumerate(paths, 1):
        uuid = f"00000000-0000-4000-8000-{one:012}"
        path.write_text(definition(interface("e1000"), name=f"g{one}", uuid=uuid))
    return paths
