"""Verdicts on domain XML that is a template: its literal values are judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from vnicaudit.audit.judging.judgement import Judgement
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import ALL_BUT_THE_MODEL, EVERY_RULE, Skipped
from vnicaudit.model.nic import Nic

_MODEL_HANGS_ON = frozenset({
    "*", "type", "model", "address_type", "address_bus", "acpi", "teaming", "source_mode",
})  # fmt: skip
"""Fields on which the model depends: if one of them is unknown, the model is not judged either."""
_SHOWN = {"*": "elements of it", "host_off": "offloads", "guest_off": "offloads"}


def of_the_model(verdicts: Iterable[Judgement], nic: Nic) -> tuple[Judgement, ...]:
    """Verdicts on the model of a NIC whose other settings a template fills in, and crashed rules;
    empty if the model itself depends on the template. All other problems are dropped, as they may
    depend on the filled-in values."""
    if _MODEL_HANGS_ON & frozenset(nic.declared.unseen):
        return ()
    left = []
    for verdict in verdicts:
        problems = tuple(problem for problem in verdict.problems if problem.field == "model")
        if problems or verdict.error:
            left.append(replace(verdict, problems=problems))
    return tuple(left)


def not_filled_in(domain: Domain) -> Iterator[Skipped]:
    """The skipped rules for settings that a template leaves open."""
    for nic in domain.nics:
        if nic.declared.unseen:
            names = dict.fromkeys(_SHOWN.get(name, name) for name in nic.declared.unseen)
            none = _MODEL_HANGS_ON & frozenset(nic.declared.unseen)
            rule = EVERY_RULE if none else ALL_BUT_THE_MODEL
            yield Skipped(rule, domain.ref_of(nic), _needs(", ".join(names)))
    if "inserted" in domain.declared.unseen:
        besides = "which other NICs there are"
        if domain.declared.is_command_line:
            needs = f"how the shell expands {domain.template!r}: {besides}"
        else:
            needs = _needs(besides)
        yield Skipped(EVERY_RULE, domain.ref, needs)


def _needs(what: str) -> str:
    return f"the rendered definition: here a template decides {what}"
