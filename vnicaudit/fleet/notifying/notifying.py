"""Notify channels of new findings: claim, send, retry, and report the result.

Findings are claimed before the message is sent. A claim is withdrawn if the message was certainly
not received; it stays if that is unknown, so that a finding is sent at most once a day. Whatever
goes wrong with one channel, the others are notified.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

import msgspec

from vnicaudit.base.waiting import Clock
from vnicaudit.errors import HistoryError, VnicauditError
from vnicaudit.fleet.notifying.channels import Address, Channel
from vnicaudit.fleet.notifying.delivery import Delivery, Fate, deliver
from vnicaudit.model.finding import SEVERITIES
from vnicaudit.model.notices import NewFinding, NoticeForm, NoticeMessage

TRIES = 4
FIRST_WAIT = 1.0
"""Seconds before the second try; the wait before each further try is four times as long."""

Messages = Callable[[NoticeForm, Sequence[NewFinding], str], Iterator[NoticeMessage]]
"""Makes messages: :func:`vnicaudit.reports.notices.forms.messages_of`."""
Send = Callable[[Address, NoticeForm, bytes], Delivery]


class NotifiedStore(Protocol):
    """Stores claims, for all processes that share it."""

    def claim(self, channel: str, day: str, findings: Collection[str]) -> frozenset[str]:
        """Claim those of the fingerprints that are not yet claimed for that channel and day
        (``2026-11-26``), and return them. They are on disk when this returns."""

    def release(self, channel: str, day: str, findings: Collection[str]) -> None:
        """Withdraw claims: the message was certainly not received."""


class ChannelOutcome(msgspec.Struct, frozen=True):
    """Result of notifying one channel: counts of findings, and the reason of the first message that
    was not delivered. ``known``: already sent on that day."""

    channel: str
    delivered: int = 0
    known: int = 0
    failed: int = 0
    unknown: int = 0
    reason: str = ""

    @property
    def is_well(self) -> bool:
        """True if all were delivered now or had been sent before."""
        return not (self.failed or self.unknown)


class Notifier:
    """Notifies channels of the findings of one audit."""

    def __init__(
        self, store: NotifiedStore, messages: Messages, clock: Clock, send: Send = deliver
    ) -> None:
        self._store = store
        self._messages = messages
        self._clock = clock
        self._send = send

    def tell(
        self,
        channels: Mapping[str, tuple[Channel, Address]],
        findings: Sequence[NewFinding],
        audit: str,
        day: str,
    ) -> tuple[ChannelOutcome, ...]:
        """Notify each channel of findings it was not notified of on that ``day`` (``2026-11-26``,
        UTC)."""
        return tuple(
            self._channel(name, *channel, findings, audit, day)
            for name, channel in channels.items()
        )

    def _channel(
        self,
        name: str,
        channel: Channel,
        address: Address,
        findings: Sequence[NewFinding],
        audit: str,
        day: str,
    ) -> ChannelOutcome:
        wanted = tuple(_severe(findings, channel))
        marks = {one.fingerprint for one in wanted}
        fresh = self._store.claim(name, day, marks)
        told = [one for one in wanted if one.fingerprint in fresh]
        counts: Counter[Fate] = Counter()
        reason = ""
        waiting, sending = set(fresh), frozenset[str]()
        try:
            for message in self._messages(channel.form, told, audit):
                sending = frozenset(message.findings)
                waiting -= sending
                delivery = self._delivered(address, channel.form, message.body)
                counts[delivery.fate] += len(sending)
                reason = reason or delivery.reason
                if delivery.fate in ("refused", "not sent"):
                    self._store.release(name, day, sending)
                sending = frozenset()
        except HistoryError:
            raise
        except Exception as error:  # an edge: costs only this channel
            counts["unknown"] += len(sending)
            counts["not sent"] += len(waiting)
            reason = reason or _words(error)
        finally:  # also if the program is interrupted
            if waiting:
                self._store.release(name, day, waiting)
        failed = counts["refused"] + counts["not sent"]
        known = len(wanted) - len(told)
        return ChannelOutcome(name, counts["delivered"], known, failed, counts["unknown"], reason)

    def _delivered(self, address: Address, form: NoticeForm, body: bytes) -> Delivery:
        """Try several times; returns the last result. After a try without an answer, the result is
        "unknown" unless a later one is delivered. A retry may at worst create a duplicate, if the
        other side does not recognise it."""
        wait, doubt = FIRST_WAIT, False
        delivery = self._send(address, form, body)
        for _ in range(TRIES - 1):
            if not delivery.again:
                break
            doubt = doubt or delivery.fate == "unknown"
            self._clock.sleep(max(wait, delivery.wait) * random.uniform(1, 1.25))  # noqa: S311
            wait *= 4
            delivery = self._send(address, form, body)
        if doubt and delivery.fate in ("refused", "not sent"):
            return Delivery("unknown", delivery.reason)
        return delivery


def _words(error: Exception) -> str:
    """An error without quoted text, which may contain the token."""
    if isinstance(error, VnicauditError):
        return str(error)
    return f"internal error: {type(error).__name__}"


def _severe(findings: Iterable[NewFinding], channel: Channel) -> Iterator[NewFinding]:
    """Findings that are severe enough for a channel, without duplicates."""
    seen: set[str] = set()
    lowest = SEVERITIES.index(channel.severity)
    for one in findings:
        mark = one.fingerprint
        if SEVERITIES.index(one.severity) >= lowest and mark not in seen:
            seen.add(mark)
            yield one
