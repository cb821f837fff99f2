"""libvirt domain XML: files, folders, standard input, save images.

``documents.py`` and ``spans.py`` find the documents in bytes. ``read.py`` walks over a domain;
``facts.py`` and ``domain_config.py`` gather its settings, ``nics.py`` and ``nic_config.py`` those
of each NIC by the table in ``fields.py``; ``values.py`` reads words and numbers, ``arch.py``
determines the architecture. ``commandline.py`` reads the arguments that a definition adds to
QEMU's, ``override.py`` those that it changes.

``write.py`` changes settings of a NIC: ``tags.py`` finds elements and attributes in bytes,
``markup.py`` makes the edits, ``source.py`` applies them to other encodings.
"""
