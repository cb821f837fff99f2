"""Change servers, images and flavors of a cloud, and undo the changes.

``transaction.py`` is the change of one of them, with what their drivers share; it tells in which
condition earlier runs left a server. ``sources.py`` has the drivers for images and flavors,
``prepare_server.py`` that for servers, with ``server.py``, ``stored_properties.py`` and
``nova_manage.py``.
"""
