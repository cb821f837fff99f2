"""libvirt domain XML: files, directories' files, standard input, save images.

``documents.py`` finds the documents in bytes, ``fields.py`` is the table of attributes,
``read.py`` turns a document into model records; ``owner.py`` and ``readiness.py`` judge who
keeps the definition and whether the guest can drive virtio.
"""
