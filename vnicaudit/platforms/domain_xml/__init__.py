"""libvirt domain XML: files, directories' files, standard input, save images.

``documents.py`` and ``spans.py`` find the documents in bytes; ``read.py`` walks over a domain,
``facts.py`` and ``domain_config.py`` gather what it sets, ``nics.py`` and ``nic_config.py`` what
each NIC sets by the table in ``fields.py``, ``values.py`` reads words and numbers; ``owner.py`` and
``readiness.py`` judge who keeps the definition and whether the guest can drive virtio.
"""
