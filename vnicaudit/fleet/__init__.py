"""Many hosts: which there are (``inventory/``), and how they are read, judged and kept
(``running/``). What an audit of them is handed to is :mod:`vnicaudit.fleet.sink`."""
