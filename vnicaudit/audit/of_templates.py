"""What can be said of domain XML that is a template: what is literal in it is judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from vnicaudit.audit.judgement import Judgement
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import ALL_BUT_THE_MODEL, EVERY_RULE, NicRef, Skipped
from vnicaudit.model.nic import Nic

_MODEL_HANGS_ON = frozenset({
    "*", "type", "model", "address_type", "address_bus", "acpi", "teaming", "source_mode",
})  # fmt: skip
"""Fields without which nothing is said of the model either."""
_SHOWN = {"*": "elements of it", "host_off": "offloads", "guest_off": "offloads"}


def of_the_model(verdicts: Iterable[Judgement], nic: Nic) -> tuple[Judgement, ...]:
    """Of a NIC of which a template decides something: what is said of its model, where that is
    literal, and of nothing else, which may hang on what is filled in."""
    if _MODEL_HANGS_ON & frozenset(nic.declared.unseen):
        return ()
    left = []
    for verdict in verdicts:
        problems = tuple(problem for problem in verdict.problems if problem.field == "model")
        if problems or verdict.error:
            left.append(replace(verdict, problems=problems))
    return tuple(left)


def not_filled_in(domain: Domain) -> Iterator[Skipped]:
    """What of a template is not judged, and why."""
    for nic in domain.nics:
        if nic.declared.unseen:
            names = dict.fromkeys(_SHOWN.get(name, name) for name in nic.declared.unseen)
            ref = NicRef(domain.name, domain.uuid, nic.mac, nic.index, nic.target_dev)
            none = _MODEL_HANGS_ON & frozenset(nic.declared.unseen)
            yield Skipped(EVERY_RULE if none else ALL_BUT_THE_MODEL, ref, _needs(", ".join(names)))
    if "inserted" in domain.declared.unseen:
        ref = NicRef(domain.name, domain.uuid)
        besides = "which NICs there are besides"
        if domain.declared.form == "qemu":
            needs = f"what the shell makes of {domain.template!r}: {besides}"
        else:
            needs = _needs(besides)
        yield Skipped(EVERY_RULE, ref, needs)


def _needs(what: str) -> str:
    return f"the rendered definition: here a template decides {what}"
