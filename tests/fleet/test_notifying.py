"""Webhooks to a real server that fails, hangs, drips, drops and redirects."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.fleet.receiver import certificate, receiving
from tests.reports.notices.samples import new
from tests.rows import rows
from vnicaudit.errors import UsageError
from vnicaudit.fleet.notifying import (
    Address,
    Channel,
    ChannelOutcome,
    Delivery,
    Notifier,
    address_of,
    deliver,
    load_channels,
    resolved,
)
from vnicaudit.history import history_to_write
from vnicaudit.history.place import history_place
from vnicaudit.model.finding import NoticeForm, NoticeMessage
from vnicaudit.model.history import FindingRecord
from vnicaudit.reports.notices import messages_of

DAY = "2026-11-26"
SECRET = "S3cr3tW0rd"
FINDINGS = [new(number) for number in range(3)]


class NoWait:
    """Time that passes when somebody waits for it."""

    def __init__(self) -> None:
        self.waited: list[float] = []

    def monotonic(self) -> float:
        return sum(self.waited)

    time = monotonic

    def sleep(self, seconds: float, /) -> None:
        self.waited.append(seconds)


class Told:
    """The history of a state directory, and telling one channel from it."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.clock = NoWait()

    def __call__(
        self,
        url: str,
        form: NoticeForm = "slack",
        findings: list[FindingRecord] | None = None,
        day: str = DAY,
        **more: str | float,
    ) -> ChannelOutcome:
        values = {"deadline": 60.0, **more, "form": form, "url": url}
        channel = _channel(values)
        told = {"ops": (channel, address_of("ops", channel))}
        with history_to_write(history_place(None, self.state)) as history:
            notifier = Notifier(history, messages_of, self.clock)
            (outcome,) = notifier.tell(told, FINDINGS if findings is None else findings, "a", day)
        assert SECRET not in outcome.reason
        return outcome


def _channel(values: Mapping[str, str | float]) -> Channel:
    import msgspec

    return msgspec.convert(values, Channel)


@pytest.fixture
def tell(tmp_path: Path) -> Told:
    return Told(tmp_path / "state")


def test_what_is_new_is_told_once_a_day(tell: Told) -> None:
    with receiving() as receiver:
        assert tell(receiver.url) == ChannelOutcome("ops", delivered=3)
        assert tell(receiver.url) == ChannelOutcome("ops", known=3)
        more = [*FINDINGS, new(9)]
        assert tell(receiver.url, findings=more) == ChannelOutcome("ops", delivered=1, known=3)
        assert tell(receiver.url, day="2026-11-27").delivered == 3
        assert len(receiver.got) == 3
    headers = receiver.got[0].headers
    assert headers["Content-Type"] == "application/json"
    assert headers["User-Agent"].startswith("vnicaudit/")
    assert "Authorization" not in headers
    assert "52:54:00:00:00:09" in receiver.got[1].body.decode()
    assert "web-0" not in receiver.got[1].body.decode()


def test_a_channel_hears_what_is_severe_enough(tell: Told) -> None:
    findings = [new(1, "low"), new(2, "medium"), new(3, "error"), new(3, "error")]
    with receiving() as receiver:
        outcome = tell(receiver.url, "json", findings, severity="high")
    assert outcome.delivered == 1
    (one,) = json.loads(receiver.got[0].body)["findings"]
    assert one["severity"] == "error"


@pytest.mark.parametrize("first", ["500", "502", "503", "429/7", "408"])
def test_an_error_that_passes_is_tried_again(first: str, tell: Told) -> None:
    with receiving(first, first, "200") as receiver:
        assert tell(receiver.url).delivered == 3
        assert len(receiver.got) == 3
    first_wait, second_wait = tell.clock.waited
    asked = 7 if "/" in first else 0
    assert max(1, asked) <= first_wait <= 1.25 * max(1, asked)
    assert max(4, asked) <= second_wait <= 1.25 * max(4, asked)


def test_it_gives_up_and_tells_the_next_time(tell: Told) -> None:
    with receiving("503") as receiver:
        outcome = tell(receiver.url)
        assert len(receiver.got) == 4
    assert (outcome.failed, outcome.reason) == (3, "HTTP 503")
    with receiving() as receiver:
        assert tell(receiver.url).delivered == 3


@pytest.mark.parametrize("status", ["400", "401", "403", "404", "410"])
def test_a_refusal_is_not_tried_again(status: str, tell: Told) -> None:
    with receiving(status) as receiver:
        assert tell(receiver.url).reason == f"HTTP {status}"
        assert len(receiver.got) == 1
    assert tell.clock.waited == []


def test_a_redirect_is_not_followed(tell: Told) -> None:
    with receiving("redirect", "200") as receiver:
        outcome = tell(receiver.url)
        assert [one.path for one in receiver.got] == [f"/hook/{SECRET}"]
    assert (outcome.failed, outcome.reason) == (3, "HTTP 307: a redirect, which is not followed")


@pytest.mark.parametrize("word", ["hang", "drop"])
def test_where_nobody_knows_whether_it_arrived_it_is_not_sent_again(word: str, tell: Told) -> None:
    with receiving(word, "200") as receiver:
        outcome = tell(receiver.url, deadline=5.0)
        assert (outcome.unknown, outcome.failed) == (3, 0)
        assert outcome.reason.startswith("no answer")
        assert tell(receiver.url) == ChannelOutcome("ops", known=3)
        assert len(receiver.got) == 1


@pytest.mark.parametrize("form", ["alertmanager", "matrix"])
def test_a_receiver_that_knows_messages_is_asked_again(
    form: NoticeForm, tell: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", SECRET)
    room, token = ("!r:example.org", "env:TOKEN") if form == "matrix" else ("", "")
    with receiving("drop", "200") as receiver:
        url = f"http://localhost:{receiver.server_port}/base"
        assert tell(url, form, room=room, token=token).delivered == 3
    first, second = receiver.got
    assert (first.path, first.body) == (second.path, second.body)
    if form == "matrix":
        assert first.method == "PUT"
        start = "/base/_matrix/client/v3/rooms/%21r%3Aexample.org/send/m.room.message/"
        assert first.path.startswith(start)
        assert first.headers["Authorization"] == f"Bearer {SECRET}"
    else:
        assert (first.method, first.path) == ("POST", "/base/api/v2/alerts")


def test_an_answer_whose_headers_never_end_ends_with_the_deadline(tell: Told) -> None:
    with receiving("drip") as receiver:
        assert tell(receiver.url, deadline=5.0).delivered == 3  # its first line said so
        assert len(receiver.got) == 1


def test_an_endless_answer_is_not_read(tell: Told) -> None:
    with receiving("flood") as receiver:
        assert tell(receiver.url).delivered == 3


def test_nobody_there_is_tried_again_and_told_the_next_time(tell: Told) -> None:
    with receiving() as receiver:
        url = receiver.url
    outcome = tell(url)
    assert outcome.failed == 3
    assert outcome.reason == "no connection: Connection refused"
    assert len(tell.clock.waited) == 3


def test_a_certificate_is_verified(tell: Told, tmp_path: Path) -> None:
    own, other = certificate(tmp_path, "localhost"), certificate(tmp_path, "example.org")
    with receiving(certificate=own) as receiver:
        assert tell(receiver.url, ca_file=str(own)).delivered == 3
        outcome = tell(receiver.url, day="2026-11-27")
        assert outcome.failed == 3
        assert outcome.reason.startswith("its certificate is not valid")
    with receiving(certificate=other) as receiver:
        assert tell(receiver.url, day="2026-11-28", ca_file=str(other)).failed == 3
        assert receiver.got == []


def test_a_file_that_is_no_certificate_is_said(tell: Told, tmp_path: Path) -> None:
    outcome = tell("https://localhost:1/x", ca_file=str(tmp_path / "none"))
    assert outcome.failed == 3
    assert outcome.reason == f"{tmp_path / 'none'}: No such file or directory"
    os.mkfifo(tmp_path / "fifo")  # OpenSSL would wait for somebody to write
    outcome = tell("https://localhost:1/x", day="2026-11-28", ca_file=str(tmp_path / "fifo"))
    assert outcome.reason == f"{tmp_path / 'fifo'}: not a regular file"
    (tmp_path / "text").write_text("no certificate")
    outcome = tell("https://localhost:1/x", day="2026-11-29", ca_file=str(tmp_path / "text"))
    assert outcome.reason.startswith(f"{tmp_path / 'text'}: ")
    with receiving() as receiver:
        assert tell(receiver.url).delivered == 3


@pytest.mark.parametrize("place", ["making", "sending"])
def test_an_error_that_nobody_foresaw_costs_only_its_channel(place: str, tmp_path: Path) -> None:
    """Claims of what was certainly not sent are given back, and what it quotes is not repeated."""
    channel = _channel({"form": "json", "url": "http://127.0.0.1:1/"})
    told = {name: (channel, address_of(name, channel)) for name in ("a", "b")}
    names: list[str] = []

    def making(
        form: NoticeForm, findings: Sequence[FindingRecord], audit: str
    ) -> Iterator[NoticeMessage]:
        names.append("made")
        if place == "making" and len(names) == 1:
            raise ValueError(SECRET)
        return messages_of(form, findings, audit)

    def sending(_address: Address, _form: NoticeForm, _body: bytes) -> Delivery:
        if place == "sending" and len(names) == 1:
            raise UnicodeError(SECRET)
        return Delivery("delivered")

    with history_to_write(history_place(None, tmp_path)) as history:
        notifier = Notifier(history, making, NoWait(), sending)
        first, second = notifier.tell(told, FINDINGS, "a", DAY)
        assert (first.failed, first.unknown) == ((3, 0) if place == "making" else (0, 3))
        assert first.reason.startswith("internal error: ")
        assert SECRET not in first.reason
        assert second.delivered == 3
        again, known = notifier.tell(told, FINDINGS, "a", DAY)
    assert (again.delivered, again.known) == ((3, 0) if place == "making" else (0, 3))
    assert known.known == 3


@rows
def test_what_no_request_can_hold_is_not_sent(url: str, token: str) -> None:
    sent = deliver(Address(urlsplit(url), token, None, 60), "json", b"{}")
    assert sent.fate == "not sent"
    assert SECRET not in sent.reason


def test_an_interruption_keeps_only_the_claim_of_what_was_being_sent(tmp_path: Path) -> None:
    channel = _channel({"form": "json", "url": "http://127.0.0.1:1/"})
    told = {"a": (channel, address_of("a", channel))}
    findings = [new(number) for number in range(2000)]

    def sending(_address: Address, _form: NoticeForm, _body: bytes) -> Delivery:
        raise KeyboardInterrupt

    with history_to_write(history_place(None, tmp_path)) as history:
        with pytest.raises(KeyboardInterrupt):
            Notifier(history, messages_of, NoWait(), sending).tell(told, findings, "a", DAY)
        free = history.claim("a", DAY, {one.fingerprint for one in findings})
    first = next(iter(messages_of("json", findings, "a")))
    assert len(free) == len(findings) - len(first.findings) > 0


FILE = """
[channels.ops]
form = "slack"
url = "env:HOOK"
severity = "high"
[channels.room]
form = "matrix"
url = "https://matrix.example.org"
room = "!r:example.org"
token = "file:{token}"
[channels.alerts]
form = "alertmanager"
url = "http://10.0.0.9:9093/am/"
"""


def test_channels_of_a_file_have_their_secrets_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = tmp_path / "token"
    token.write_text(f"{SECRET}\n")
    path = tmp_path / "channels.toml"
    path.write_text(FILE.format(token=token))
    channels = {
        name: each
        for name, each in load_channels(str(path)).items()
        if not isinstance(each, UsageError)
    }
    assert list(channels) == ["ops", "room", "alerts"]
    with pytest.raises(UsageError, match="environment variable HOOK is not set"):
        address_of("ops", channels["ops"])
    monkeypatch.setenv("HOOK", f"https://hooks.example.org/services/{SECRET}")
    addresses = {name: address_of(name, channel) for name, channel in channels.items()}
    assert addresses["ops"].url.path == f"/services/{SECRET}"
    assert addresses["room"].token == SECRET
    assert addresses["alerts"].url.geturl() == "http://10.0.0.9:9093/am/api/v2/alerts"
    assert SECRET not in repr(addresses) + str(addresses)


@rows
def test_a_file_with_a_secret_or_a_mistake_is_refused(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "channels.toml"
    path.write_text(f"[channels.ops]\n{text}\n")
    with pytest.raises(UsageError, match=says) as error:
        refuse(load_channels(str(path))["ops"])
    assert SECRET not in str(error.value)


def refuse(channel: Channel | UsageError) -> None:
    if isinstance(channel, UsageError):
        raise channel


def test_a_mistake_in_one_channel_spares_the_others(tmp_path: Path) -> None:
    path = tmp_path / "channels.toml"
    path.write_text(FILE.format(token="t") + '[channels.bad]\nform="sleck"\nurl="env:X"\n')
    bad = [name for name, each in load_channels(str(path)).items() if isinstance(each, UsageError)]
    assert bad == ["bad"]


@rows
def test_an_address_that_is_none_is_refused_without_being_said(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK", url)
    with pytest.raises(UsageError) as error:
        address_of("ops", Channel("slack", "env:HOOK"))
    assert SECRET not in str(error.value)


def test_a_file_that_others_may_write_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "channels.toml"
    path.write_text(FILE)
    path.chmod(0o666)
    with pytest.raises(UsageError, match="only you may change it"):
        load_channels(str(path))


def test_a_file_of_a_secret_has_one_line(tmp_path: Path) -> None:
    token = tmp_path / "token"
    for text, fault in (("", "is empty"), (f"{SECRET}\n{SECRET}\n", "has more than one line")):
        token.write_text(text)
        with pytest.raises(UsageError, match=fault) as error:
            resolved(f"file:{token}", "channel 'ops': token")
        assert SECRET not in str(error.value)
    token.write_text(f"{SECRET}\r\n")
    assert resolved(f"file:{token}", "channel 'ops': token") == SECRET


def test_an_empty_label_is_told_apart_from_a_wrong_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK", f"https://a..b/{SECRET}")
    with pytest.raises(UsageError, match="the host of its url has an empty label") as error:
        address_of("ops", Channel("slack", "env:HOOK"))
    assert SECRET not in str(error.value)
