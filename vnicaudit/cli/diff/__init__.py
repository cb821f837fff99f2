"""``vnicaudit diff``: what changed between two reports of an audit."""
