"""Change servers, images and flavors of a cloud, and undo the changes.

``transaction.py`` is the change of one of them, and tells in which condition earlier runs left a
server. Each of the three has its own ``ObjectActions``: ``image.py``, ``flavor.py``, and for a
server ``prepare_server.py``, ``server.py``, ``stored_properties.py`` and ``nova_manage.py``.
"""
