"""Servers, images and flavors of a cloud on their way, forward and back.

``prepare.py`` makes a ``transaction.py`` of the step on one of them. What differs between the three
is an ``ObjectActions`` (``object_actions.py``) of each: ``image.py``, ``flavor.py``, and of a
server ``prepare_server.py`` with ``preflight.py``, ``server.py`` with ``power.py``,
``stored_properties.py``, ``nova_manage.py`` and ``checks.py``; ``leftovers.py`` says what earlier
runs left of it."""
