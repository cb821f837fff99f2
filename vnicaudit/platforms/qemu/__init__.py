"""QEMU itself: what really runs, from command lines, logs and ``/proc``.

``options.py`` reads one option's value, ``arguments.py`` a list of arguments, ``words.py`` splits
shell text and ``ps`` output, ``commands.py`` finds command lines in a document, ``log.py`` the last
start in a libvirt log. ``machine.py`` and ``nics.py`` interpret the arguments, ``faults.py`` finds
out whether some are missing, ``refusals.py`` whether QEMU refuses them. ``read.py`` and ``proc.py``
combine all of this, ``domain.py`` makes a domain from it; ``added.py`` reads arguments in a libvirt
definition.
"""
