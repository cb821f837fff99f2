"""Make the changes that findings propose, in the place where the owner keeps the description.

``contract.py``, ``hypervisor.py``, ``cloud.py`` and ``definitions.py`` are the only interfaces to
platforms. ``planning/`` makes a plan; ``applying/`` applies it, rolls it back and reports on runs.
Fixing files in place (``audit --fix``): ``reading.py`` reads and judges bytes, ``in_place.py``
makes and tries the changes of one file in memory, ``check.py`` raises objections to the result,
``replacing.py`` writes it to the file, and ``files.py`` does all of that for many files.
"""
