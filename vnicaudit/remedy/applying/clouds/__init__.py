"""Servers, images and flavors of a cloud on their way, forward and back.

``prepare.py`` looks once more and makes a ``task.py`` of the steps on one of them; ``preflight.py``
refuses. ``unit.py`` carries it out: ``server.py`` with ``power.py``, ``kept.py``,
``nova_manage.py`` and ``verify.py``; ``image.py``; ``flavor.py``. ``back.py`` is the task of the
way back.
"""
