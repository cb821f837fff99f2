"""One chunk of files: each is read, and its items are worked on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, BinaryIO, NoReturn

import msgspec

from vnicaudit.audit.accepting.settings_entries import Usage
from vnicaudit.audit.reading.files import mention_of, read_file, read_stream, shown_path
from vnicaudit.audit.same_guest import with_reading
from vnicaudit.audit.work import Work
from vnicaudit.errors import VnicauditError
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import Description
from vnicaudit.model.host import SiteNode
from vnicaudit.model.report import Audited, Explained, NotJudged, PutAside, ReadError

if TYPE_CHECKING:
    from vnicaudit.audit.work import Product
    from vnicaudit.model.file_kind import Item


class Job(msgspec.Struct, frozen=True):
    """The work on the files of one target. ``cloud``: a cloud is read in the same run, and the
    files may be about its servers. ``stdin``: the file ``-``. ``still_waits`` is called about twice
    a second while a worker reads."""

    work: Work
    target: str
    cloud: bool = False
    stdin: BinaryIO | None = None
    still_waits: Callable[[], None] | None = None


class WorkerError(Exception):
    """An exception in a worker that read what cannot be read twice."""


class RaisedInWorker(msgspec.Struct):
    """Such an exception. ``exit_code``: of a VnicauditError; None: it is another one."""

    text: str
    trace: str
    exit_code: int | None

    def raise_again(self) -> NoReturn:
        """Raise a like one in this process."""
        if self.exit_code is None:
            raise WorkerError(self.text) from WorkerError(self.trace)
        error = VnicauditError(self.text)
        error.exit_code = self.exit_code
        raise error


class Batch(msgspec.Struct):
    """The results of one chunk of files, as a worker process returns them."""

    audited: list[Audited] = []
    resolved: list[Domain] = []
    explained: list[Explained] = []
    errors: list[ReadError] = []
    aside: list[PutAside] = []
    not_judged: list[NotJudged] = []
    domains: int = 0
    nics: int = 0
    configs: int = 0
    files: int = 0
    usage: Usage = Usage()
    nodes: list[SiteNode] = []
    """Compute nodes to be compared, or joined with servers, when everything has been read."""
    nics_seen: list[tuple[str, bytes]] = []
    """NICs to be compared with those of the whole run."""
    guests: list[Domain] = []
    """Nova's guests, which wait for their cloud to be read."""
    unrecognised: list[str] = []
    """Files of no recognised type."""
    naming_nics: list[str] = []
    """Those of them that name QEMU or NICs."""
    failure: RaisedInWorker | None = None

    @property
    def products(self) -> list[Audited] | list[Domain] | list[Explained]:
        """The products of the batch: judgements, NICs, or what is asked about one of them."""
        return self.audited or self.resolved or self.explained

    def add(self, product: Product) -> None:
        """Add the product of the work on one item."""
        if isinstance(product, Audited):
            self.audited.append(product)
        elif isinstance(product, Explained):
            self.explained.append(product)
        else:
            self.resolved.append(product)


def run_chunk(paths: Iterable[str], job: Job, *, explicit: bool) -> Batch:
    """Read and process some files in this process."""
    work, target, kinds = job.work, job.target, job.work.platforms.files
    batch = Batch()
    for path in paths:
        batch.files += 1
        nothing = True
        items = (
            read_file(path, target, kinds, explicit=explicit)
            if job.stdin is None
            else read_stream(job.stdin, path, kinds)
        )
        for item in items:
            nothing = False
            work_on(item, batch, job)
        mention = mention_of(path) if nothing and not explicit else ""
        if nothing and mention != "own report":
            batch.unrecognised.append(shown_path(path))
            if mention:
                batch.naming_nics.append(shown_path(path))
    batch.usage = work.usage()
    return batch


def work_on(item: Item, batch: Batch, job: Job) -> None:
    """Process one item, and add the products to the batch."""
    work = job.work
    if isinstance(item, Description):
        batch.configs += 1
        if (product := work.description(item, job.target)) is not None:
            batch.add(product)
        if (node := work.node(item, joins=job.cloud)) is not None:
            batch.nodes.append(node)
    elif isinstance(item, ReadError):
        batch.errors.append(item)
    elif isinstance(item, PutAside):
        batch.aside.append(item)
    elif isinstance(item, NotJudged):
        batch.not_judged.append(item)
    else:  # a domain, which is found last: to load its record for a test would slow a lint
        batch.domains += not item.declared.is_lone_nic
        batch.nics += len(item.nics)
        if job.cloud and item.nova_uuid is not None:
            batch.guests.append(item)
        else:
            batch.nics_seen += work.nics_to_compare(item, job.target)
            batch.add(with_reading(work.domain(item, None, job.target), item))
