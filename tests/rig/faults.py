"""Commands of the product in a process that ends, or has libvirtd stopped, at a chosen place.

    python -m tests.rig.faults --kills 500 [--seed 1]

The product has no hook for it. A process is forked off a server that has imported it (fork, for
starting Python anew takes longer than most commands), and what the product does its work with is
wrapped there: lines of the journal, files of the state folder, calls that change a domain.
"""

from __future__ import annotations

from vnicaudit.cli import apply, doing, rollback, runs
from vnicaudit.remedy.applying import back, engine
from vnicaudit.reports.plan import json as plan_json
from vnicaudit.reports.plan import text as plan_text
from vnicaudit.reports.runs import json as runs_json
from vnicaudit.reports.runs import text as runs_text

__all__ = ["apply", "back", "doing", "engine", "plan_json", "plan_text", "rollback", "runs",
           "runs_json", "runs_text"]  # fmt: skip
