"""The history of audits, as text, JSON, CSV or Markdown."""
