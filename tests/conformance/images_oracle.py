"""Run by the Python of an installed Nova: what its own code makes of images with flavors.

One line of JSON on standard input is one pair: ``{"image": PROPERTIES, "flavor": EXTRA_SPECS,
"vcpus": N}``. One on standard output is its answer: ``[ERROR, null]``, the class of the error with
which ``compute/api.py`` or the libvirt driver's ``vif.py`` refuses a server of both with KVM, or
``[null, MODEL]``.
"""

from __future__ import annotations

import json
import logging
import sys
import warnings
from typing import Any

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

from nova import context, objects  # type: ignore[import-not-found]  # noqa: E402
from nova.compute.api import API  # type: ignore[import-not-found]  # noqa: E402
from nova.conf import CONF  # type: ignore[import-not-found]  # noqa: E402
from nova.virt.libvirt.vif import (  # type: ignore[import-not-found]  # noqa: E402
    LibvirtGenericVIFDriver,
)

objects.register_all()
CONF([], project="nova", default_config_files=[], default_config_dirs=[])


def answer(image: dict[str, str], flavor: dict[str, str], vcpus: int) -> list[str | None]:
    """What Nova makes of a server of both."""
    chosen = objects.Flavor(
        name="f", flavorid="f", memory_mb=512, vcpus=vcpus, root_gb=1, ephemeral_gb=0, swap=0,
        extra_specs=flavor,
    )  # fmt: skip
    found: dict[str, Any] = {"id": "i", "name": "i", "disk_format": "qcow2", "properties": image}
    try:
        API._validate_flavor_image_nostatus(
            context.get_admin_context(), found, chosen, None, validate_numa=False
        )
        config = LibvirtGenericVIFDriver().get_base_config(
            None, "02:00:00:00:00:01", objects.ImageMeta.from_dict(found), chosen, "kvm", "normal"
        )
    except Exception as error:  # whatever it refuses with
        return [type(error).__name__, None]
    return [None, config.model]


for line in sys.stdin:
    print(json.dumps(answer(**json.loads(line))), flush=True)
