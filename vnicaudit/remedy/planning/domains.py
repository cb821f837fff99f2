"""A domain -> steps, one for each NIC to be changed, and the NICs that are not planned."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.errors import RefusedError
from vnicaudit.model.domain import Domain
from vnicaudit.model.guest_words import VIRTIO
from vnicaudit.model.nic import Nic
from vnicaudit.model.plan import NotPlanned, Planned
from vnicaudit.model.reasons import Reason
from vnicaudit.remedy.planning import gates
from vnicaudit.remedy.planning.judged_domain import JudgedDomain
from vnicaudit.remedy.planning.judged_item import Judges, NotPlannedError
from vnicaudit.remedy.planning.nic import EditedNic, OwnerEditedNic
from vnicaudit.remedy.planning.nic_step import NicContext
from vnicaudit.remedy.planning.policy import NicTuning, planned_tuning
from vnicaudit.remedy.planning.source import Source
from vnicaudit.remedy.planning.subject import plan_subject, reason_of

_TEMPLATE = (
    "the file is a template ({}): plan its rendered form; audit --fix can change literal values "
    "in it"
)
MOST_NICS = 256
"""Maximum number of NICs of a domain that is planned: each step is judged, and shown, with the
whole definition."""
_TOO_MANY = f"the domain has more than {MOST_NICS} NICs: it is not planned"
_LIVE_ONLY = Reason(
    "live-only", "only the running guest has it: it was attached live and is not in the definition"
)


class DomainPlanner:
    """Plans one domain after the other."""

    def __init__(self, judges: Judges, context: NicContext) -> None:
        self._judges = judges
        self._context = context
        self._options = context.options

    def plan(self, source: Source) -> Iterator[Planned]:
        """The steps of one domain, and its NICs that are not planned."""
        domain = source.domain
        if not self._options.takes(domain.name, domain.uuid):
            return
        try:
            judged = self._judged_domain(source)
        except RefusedError as error:
            for nic in filter(self._takes, domain.nics):
                yield _not_planned(domain, nic, source, reason_of(error))
            return
        tuning = self._tuning(judged)
        for nic in filter(self._takes, domain.nics):
            if gates.owner_blocks(domain):
                yield from plan_subject(OwnerEditedNic(judged, nic, self._context))
            else:
                given = tuning.get(nic.index)
                yield from plan_subject(EditedNic(judged, nic, self._context, given))
        yield from self._plugged_in(source)

    def _judged_domain(self, source: Source) -> JudgedDomain:
        """The domain, judged. Raises RefusedError for a domain that is not planned at all."""
        if source.domain.template:
            text = _TEMPLATE.format(source.domain.template)
            raise NotPlannedError(Reason("template", text))
        if len(source.domain.nics) > MOST_NICS:
            raise NotPlannedError(Reason("too-many-nics", _TOO_MANY))
        return JudgedDomain(source, self._judges, self._context.texts)

    def _takes(self, nic: Nic) -> bool:
        return not self._options.macs or nic.mac in self._options.macs

    def _plugged_in(self, source: Source) -> Iterator[NotPlanned]:
        """Running NICs that are not virtio and that no definition has."""
        known = {nic.mac for nic in source.domain.nics}
        for nic in filter(self._takes, source.running.nics):
            emulated = nic.declared.model not in (None, *VIRTIO)
            if source.text and emulated and nic.mac is not None and nic.mac not in known:
                yield _not_planned(source.running, nic, source, _LIVE_ONLY)

    def _tuning(self, judged: JudgedDomain) -> dict[int, NicTuning]:
        """NIC index -> the queues and rings that the policy gives to each NIC that is or becomes
        virtio."""
        domain = judged.source.domain
        chosen = {
            nic.index: self._options.to for nic in domain.nics
            if nic.declared.model in VIRTIO or judged.findings_of(nic)
        }  # fmt: skip
        found = planned_tuning(self._options.policy, domain.declared, domain.nics, chosen)
        return {tuning.index: tuning for tuning in found.nics}


def _not_planned(domain: Domain, nic: Nic, source: Source, reason: Reason) -> NotPlanned:
    return NotPlanned(
        domain.ref_of(nic), source.target, (), reason.text, code=reason.code,
        file=source.file, line=source.line,
    )  # fmt: skip
