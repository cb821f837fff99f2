"""OpenStack: what a cloud's API says of servers, ports, images and flavors.

``read.py`` reads a cloud. ``configuration.py`` finds what is configured of it, ``connect.py`` opens
it, ``calls.py`` is the one place that asks anything of a service, ``pages.py`` follows pages. A
module per list (``servers.py``, ``ports.py``, ``images.py``, ``flavors.py``, ``nodes.py``,
``aggregates.py``, ``projects.py``) decodes what a service says into small records, and
``domains.py`` makes a domain of a server; ``kept.py``, ``nics.py`` and ``guest.py`` are its parts.
``libosinfo.py`` and ``osinfo_db.py`` tell what an image's ``os_distro`` brings.
"""
