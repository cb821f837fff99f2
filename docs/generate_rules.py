"""Write docs/rules/ from the docstrings of the rules, and their index in the package.

python docs/generate_rules.py            write the pages, and remove those of removed rules
python docs/generate_rules.py --check    exit 1 if a page differs, naming it
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from vnicaudit.audit.judging.catalogue import shipped_catalogue
from vnicaudit.audit.judging.rule_files import index_text
from vnicaudit.model.names import RuleInfo
from vnicaudit.reports.rules import settings_section, without_marks

FOLDER = Path(__file__).parent / "rules"
INDEX = Path(__file__).parents[1] / "vnicaudit/rules/index.json"
SCOPES = {
    "nic": "each NIC",
    "domain": "each domain",
    "guest": "each VM of a cluster",
    "host": "each host",
    "link": "each link of a host",
    "config": "each configuration file",
    "image": "each image",
    "flavor": "each flavor",
    "preference": "each KubeVirt preference",
    "cluster": "each cluster",
    "site": "each compute node beside the others of its site",
    "mac": "each NIC beside those of the same run that have its MAC address",
}
FORMS = {"manifests": "KubeVirt manifests", "servers": "OpenStack servers"}
"""Inputs with few of the facts of a NIC or domain, judged only by rules that say so."""

_CODE = re.compile(r"(```.*?```|``.*?``|`[^`]*`)", re.DOTALL)
"""Code in a manual; outside of code, ``<`` would start an HTML tag."""

_INDEX = """\
# Rules

`vnicaudit rules` prints this list, `vnicaudit rules VNIC001` the page of a rule.

| rule | name | severity | summary |
|---|---|---|---|
{rows}

## Groups

`--select`, `--ignore` and `vnicaudit rules` take these words for several rules at once.

| group | rules |
|---|---|
{groups}

```{{toctree}}
:hidden:
:glob:

VNIC*
```
"""

_PAGE = """\
# {id} {name}

{summary}

*Severity:* {severity}. *Groups:* {groups}. *Judged for:* {scope}.

{rest}
"""


def pages() -> dict[str, str]:
    """File name -> text, of every page."""
    rules = [shipped_catalogue().info(rule_id) for rule_id in shipped_catalogue().ids]
    written = {f"{rule.id}.md": _page(rule) for rule in rules}
    return written | {"index.md": _index(rules)}


def differing(folder: Path = FOLDER) -> list[str]:
    """Names of pages that are missing, out of date or no longer needed in ``folder``, sorted."""
    wanted = pages()
    there = {path.name: path.read_text("utf-8") for path in folder.glob("*.md")}
    names = wanted.keys() | there.keys()
    return sorted(name for name in names if wanted.get(name) != there.get(name))


def write(folder: Path = FOLDER) -> None:
    """Make ``folder`` contain exactly the pages."""
    folder.mkdir(exist_ok=True)
    for name in differing(folder):
        (folder / name).unlink(missing_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, "utf-8")


def main(arguments: list[str]) -> int:
    """Write or check the pages; returns the exit code: 1 if ``--check`` finds a difference."""
    if arguments != ["--check"]:
        write()
        INDEX.write_text(index_text(), "utf-8")
        return 0
    names = [f"docs/rules/{name}" for name in differing()]
    if INDEX.read_text("utf-8") != index_text():
        names.append("vnicaudit/rules/index.json")
    for name in names:
        sys.stderr.write(f"{name} differs: run python docs/generate_rules.py\n")
    return 1 if names else 0


def _page(rule: RuleInfo) -> str:
    summary, _blank, rest = rule.manual.partition("\n\n")
    return _PAGE.format(
        id=rule.id,
        name=rule.name,
        summary=_plain(summary),
        severity=rule.severity,
        groups=", ".join(rule.groups),
        scope=_scope(rule),
        rest=_plain(without_marks(rest)).rstrip() + settings_section(rule),
    )


def _scope(rule: RuleInfo) -> str:
    judged = set(rule.judges)
    beside = [SCOPES[scope] for scope in SCOPES if scope in judged - {rule.scope}]
    text = " and ".join([SCOPES[rule.scope], *beside])
    forms = [FORMS[form] for form in FORMS if form in judged]
    return f"{text}, also of {' and '.join(forms)}" if forms else text


def _plain(text: str) -> str:
    """Markdown with every ``<`` outside of code escaped."""
    parts = _CODE.split(text)
    parts[::2] = [part.replace("<", "\\<") for part in parts[::2]]
    return "".join(parts)


def _index(rules: list[RuleInfo]) -> str:
    rows = "\n".join(
        f"| [{rule.id}]({rule.id}.md) | {rule.name} | {rule.severity} | {_plain(rule.summary)} |"
        for rule in rules
    )
    groups = "\n".join(
        f"| `{group}` | {', '.join(f'[{each}]({each}.md)' for each in ids)} |"
        for group, ids in shipped_catalogue().groups().items()
    )
    return _INDEX.format(rows=rows, groups=groups)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
