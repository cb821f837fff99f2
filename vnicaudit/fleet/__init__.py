"""Many hosts: inventories of them (``inventory_sources.py``), how they are read and judged, in
parallel (``host_reading.py``, ``fleet_run.py``) and kept on disk meanwhile (``spool.py``), and what
is made of it: the ranking of changes, notifications, and a small HTTP server. What stores a whole
audit is :data:`vnicaudit.model.fleet.AuditSink`."""
