"""Programs that write nova.conf from files of their own: what makes them write it again, and the
words of a finding for the people who use them.

Sources are named at each table.
"""

from __future__ import annotations

import re

from vnicaudit.model.nova import NovaConfig

REWRITTEN_BY: dict[str, str] = {
    "OpenStack-Ansible": "run the playbook os-nova-install.yml",
    "OpenStack-Helm": "upgrade the release of the chart nova",
    "Puppet": "run Puppet",
    "TripleO": "update the overcloud",
}
"""Home -> what makes it write nova.conf again and restart nova-compute."""

_RESTART = "restart nova-compute"
_NAMED = re.compile(r"\[(?P<section>[\w-]{1,80})\] (?P<named>[\w-]{1,80})|\b[a-z]+(?:_[a-z]+)+\b")


def in_words_of(config: NovaConfig, text: str) -> str:
    """A sentence about nova.conf for somebody who edits another file: the options under the names
    that they have there, and what makes its program write nova.conf again."""
    called = {option.written: option.called for option in config.own if option.called}
    called |= {option.name: option.called for option in config.own if option.called}
    text = _NAMED.sub(lambda match: called.get(match[0], match[0]), text)
    rewrites = REWRITTEN_BY.get(config.home)
    return text.replace(_RESTART, rewrites) if rewrites else text
