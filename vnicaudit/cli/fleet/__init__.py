"""The commands of ``vnicaudit fleet``, and what audits and plans of a fleet share."""
