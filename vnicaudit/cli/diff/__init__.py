"""``vnicaudit diff``: what changed between two audit reports."""
