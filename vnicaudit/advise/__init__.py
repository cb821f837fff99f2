"""Advice: a scenario in, for each flow the attachment that the sources recommend, with the rows
of the decision table (``knowledge/attachments.toml``) behind it."""

from __future__ import annotations

from vnicaudit.advise.deciding import advice_for

__all__ = ["advice_for"]
