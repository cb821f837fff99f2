"""QEMU itself: what really runs, from command lines, logs and ``/proc``.

``options.py`` reads one option's value, ``arguments.py`` a list of arguments, ``words.py`` splits
shell text and ``ps`` output, ``commands.py`` finds command lines in a document, ``log.py`` the
last start in a libvirt log, ``machine.py`` and ``nics.py`` say what the arguments mean,
``faults.py`` what is missing of them, ``read.py`` and ``proc.py`` put it together, ``domain.py``
makes a domain of it; ``added.py`` reads arguments that stand in a libvirt definition.
"""
