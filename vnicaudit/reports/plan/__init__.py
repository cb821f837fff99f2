"""A plan, for people to review and as ``vnicaudit.plan/1``, which is written and read back."""
