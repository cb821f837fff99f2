"""A plan as text for review, and as ``vnicaudit.plan/1``, both written and read."""
