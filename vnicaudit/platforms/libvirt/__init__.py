"""Live libvirt, read-only, and (``control.py``) domains changed over it.

``read.py`` is the entry point for reading. ``connection.py`` connects to targets, ``visit.py``
starts threads (``workers.py``) that fetch data (``state.py``, ``domains.py``, ``capabilities.py``,
``agent.py``); ``networks.py`` and ``staged.py`` draw conclusions without libvirt. ``binding.py`` is
the only module that imports libvirt-python.
"""
