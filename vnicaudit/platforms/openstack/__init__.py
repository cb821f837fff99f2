"""OpenStack: servers, ports, images and flavors from the API of a cloud, and changes of them.

``configuration.py`` reads a cloud's configuration, ``connect.py`` logs in to it, ``client.py`` is
the one place that sends requests to services.

Reading (``read.py``): ``listing.py`` defines lists, follows their pages and collects their items;
``servers.py`` (and flavors), ``images.py``, ``network.py`` and ``lists.py`` are the lists that
exist, each with the record for its items. ``domains.py`` makes a domain from a server, ``guest.py``
its parts; ``osinfo_db.py`` tells which NIC an image's ``os_distro`` results in.

Changing (``control.py``): ``states.py`` decodes the current state of a server, ``flavor_copies.py``
copies flavors.
"""
