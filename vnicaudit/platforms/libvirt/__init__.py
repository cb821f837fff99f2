"""Live libvirt, read-only. ``read.py`` is the way in.

``uri.py`` takes targets apart, ``connection.py`` opens them, ``visit.py`` sends threads
(``workers.py``) that fetch (``state.py``, ``domains.py``, ``capabilities.py``, ``agent.py``);
``networks.py`` and ``staged.py`` work out what follows, without libvirt. ``binding.py`` is the
only module that imports libvirt-python.
"""
