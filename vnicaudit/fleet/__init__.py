"""Many hosts: the inventory of hosts (``inventory/``), and how they are read, judged and stored
(``running/``). :mod:`vnicaudit.fleet.plan_history` is the interface of stores for audits."""
