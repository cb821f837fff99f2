"""OpenStack: what the API of a cloud says of servers, ports, images and flavors, and their changes.

``configuration.py`` finds what is configured of a cloud, ``connect.py`` opens it, ``client.py`` is
the one place that asks anything of a service.

Reading (``read.py``): ``listing.py`` has what a list is, follows its pages and collects its items;
``servers.py`` (and flavors), ``images.py``, ``network.py`` and ``lists.py`` are the table of the
lists there are, each with the record that its items become. ``domains.py`` makes a domain of a
server, ``guest.py`` its parts; ``osinfo_db.py`` tells what an image's ``os_distro`` brings.

Changing (``control.py``): ``states.py`` decodes a server as it is now, ``flavor_copies.py`` makes a
flavor like another one.
"""
