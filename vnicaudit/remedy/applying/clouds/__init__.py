"""Change servers, images and flavors of a cloud, and undo the changes.

``prepare.py`` makes a ``transaction.py`` of the step on one of them. Each of the three has its own
``ObjectActions`` (``object_actions.py``): ``image.py``, ``flavor.py``, and for a server
``prepare_server.py`` with ``preflight.py``, ``server.py`` with ``power.py``,
``stored_properties.py``, ``nova_manage.py`` and ``checks.py``; ``leftovers.py`` tells in which
condition earlier runs left a server.
"""
