"""The rules of a run, as far as a suppression depends on the findings they reported or may still
report."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING

from vnicaudit.audit.judging.macs import nics_seen
from vnicaudit.model.finding import ALL_BUT_THE_MODEL, EVERY_RULE
from vnicaudit.model.refs import mac_of

if TYPE_CHECKING:
    from vnicaudit.audit.accepting.suppression import Suppression
    from vnicaudit.audit.judging.catalogue import Catalogue
    from vnicaudit.model.domain import Domain
    from vnicaudit.model.macs import NicSeen
    from vnicaudit.model.report import Audited

_ALL = (EVERY_RULE, ALL_BUT_THE_MODEL)


class RunRules:
    """The ids of the rules that are judged in this run."""

    def __init__(self, rules: Iterable[str], catalogue: Catalogue) -> None:
        self._rules = tuple(rules)
        self._catalogue = catalogue
        self._live: dict[str, bool] = {}

    def selects(self, entry: Suppression) -> bool:
        """True if an entry is about one of these rules."""
        return any(entry.covers(rule) for rule in self._rules)

    def comparing_nics(self) -> list[str]:
        """The rules that compare NICs by their MAC address, after everything has been read."""
        return [rule for rule in self._rules if self._compares(rule, "mac")]

    def undecided(self, audited: Audited, domain: Domain | None) -> set[str]:
        """The rules that may have more to report on the judged object: skipped, crashed, in need of
        a live host, or judged when everything has been read."""
        found = {one.rule for one in audited.skipped} | {one.rule for one in audited.crashed}
        offline = domain is not None and domain.state is None
        scope = "site" if domain is None else "mac"
        compared = domain is None or bool(_nics_seen(domain))
        found.update(
            rule
            for rule in self._rules
            if (offline and self._needs_live(rule)) or (compared and self._compares(rule, scope))
        )
        return found

    def may_come_later(self, entry: Suppression, domain: Domain | None) -> bool:
        """True if a rule that compares NICs, or compute nodes, after everything has been read may
        still report a finding that this entry accepts."""
        scope = "site" if domain is None else "mac"
        if not any(entry.covers(rule) and self._compares(rule, scope) for rule in self._rules):
            return False
        if domain is None:
            return True
        return any(entry.mac in (None, nic.mac) for nic in _nics_seen(domain))

    def is_undecided(self, entry: Suppression, audited: Audited, domain: Domain | None) -> bool:
        """True if a rule that the entry is about could not be judged here: skipped, crashed, or
        without findings because it judges only facts of a live host."""
        offline = domain is not None and domain.state is None
        if offline and any(entry.covers(rule) and self._needs_live(rule) for rule in self._rules):
            return True
        skipped = ((one.rule, mac_of(one.about)) for one in audited.skipped)
        crashed = ((one.rule, mac_of(one.about)) for one in audited.crashed)
        return any(
            covers_any(entry, (rule,)) and (not entry.mac or mac in (None, entry.mac))
            for rule, mac in chain(skipped, crashed)
        )

    def _compares(self, rule: str, scope: str) -> bool:
        """True if a rule judges in this scope, after everything has been read."""
        return scope in self._catalogue.listed(rule).scopes

    def _needs_live(self, rule: str) -> bool:
        """True if a rule needs live facts, which a definition alone lacks."""
        found = self._live.get(rule)
        if found is None:
            needs = self._catalogue.main_judge(rule).needs
            found = self._live[rule] = any(need.live for need in needs)
        return found


def _nics_seen(domain: Domain) -> tuple[NicSeen, ...]:
    return nics_seen(domain, domain.location.target)


def covers_any(entry: Suppression, rules: Iterable[str]) -> bool:
    """True if the entry is about one of these rules, or one of them stands for all rules."""
    return any(entry.covers(rule) or rule in _ALL for rule in rules)
