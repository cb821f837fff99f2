"""Traffic of NICs, as counted by their host."""

from __future__ import annotations

import msgspec


class NicTraffic(msgspec.Struct, frozen=True, kw_only=True):
    """The increase of a running NIC's counters between two readings, ``seconds`` apart, in the
    directions of the guest. None: unknown (the driver does not count it, or it was reset in
    between)."""

    uuid: str
    """The UUID of its domain."""
    device: str
    """The device on the host (``vnet3``)."""
    seconds: float
    rx_bytes: int | None = None
    tx_bytes: int | None = None
    rx_packets: int | None = None
    tx_packets: int | None = None
    rx_drops: int | None = None
    tx_drops: int | None = None
    rx_errors: int | None = None
    tx_errors: int | None = None

    @property
    def bytes_per_second(self) -> float | None:
        """The sum of both directions; None if one is unknown."""
        return self._rate(self.rx_bytes, self.tx_bytes)

    @property
    def drops_per_second(self) -> float | None:
        """Packets that the host dropped on their way to or from the guest."""
        return self._rate(self.rx_drops, self.tx_drops)

    @property
    def errors_per_second(self) -> float | None:
        """Packets with errors."""
        return self._rate(self.rx_errors, self.tx_errors)

    def _rate(self, one: int | None, other: int | None) -> float | None:
        if one is None or other is None or self.seconds <= 0:
            return None
        return (one + other) / self.seconds


class HostTraffic(msgspec.Struct, frozen=True):
    """The traffic of all NICs of one host whose counters are known."""

    nics: tuple[NicTraffic, ...] = ()
