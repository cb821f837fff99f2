"""libvirt domain XML: files, directories' files, standard input, save images.

``documents.py`` and ``spans.py`` find the documents in bytes; ``read.py`` walks over a domain,
``facts.py`` and ``domain_config.py`` gather what it sets, ``nics.py`` and ``nic_config.py`` what
each NIC sets by the table in ``fields.py``, ``values.py`` reads words and numbers; ``arch.py``,
``owner.py`` and ``readiness.py`` judge what architecture it is of, who keeps the definition and
whether the guest can drive virtio; ``commandline.py`` reads what it adds to QEMU's arguments,
``override.py`` what it changes of them.

``write.py`` changes what a NIC sets: ``tags.py`` finds elements and attributes in bytes,
``markup.py`` makes the edits, ``source.py`` carries them over to other encodings.
"""
