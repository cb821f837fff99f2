"""Make the changes that findings propose, in the place where the owner keeps the description.

``hypervisor.py`` has the interfaces to platforms. ``planning/`` makes a plan; ``applying/`` applies
it, rolls it back and reports on runs. Fixing files in place (``audit --fix``): ``in_place.py``
makes and tries the changes of one file in memory, and of many, ``check.py`` reads and judges the
result and raises objections, ``replacing.py`` writes it to the file.
"""
