"""The platforms of the program, for tests of what is handed them."""

from vnicaudit.bench.endpoints import opening
from vnicaudit.bench.endpoints.session import LEASE_SECONDS, EndpointSession
from vnicaudit.cli.wiring.adapters import adapters
from vnicaudit.remedy.hypervisor import ConnectHypervisor

ADAPTERS = adapters()


def open_endpoint(
    url: str, *, connect: ConnectHypervisor = ADAPTERS.connect, lease: float = LEASE_SECONDS
) -> EndpointSession:
    """An endpoint, as the program opens it."""
    return opening.open_endpoint(url, connect=connect, lease=lease)
