"""Make the changes that findings propose, where the owner keeps the description.

``contract.py``, ``hypervisor.py``, ``cloud.py`` and ``definitions.py`` are all that is known of
platforms. ``planning/`` makes a plan, ``applying/`` carries it out, takes it back and tells of
runs. Fixing files in place (``audit --fix``): ``reading.py`` reads and judges bytes,
``in_place.py`` makes and tries the changes of one file in memory, ``check.py`` says what speaks
against what came out, ``replacing.py`` puts it in the file's place, ``files.py`` does all of that
for many files.
"""
