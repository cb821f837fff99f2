"""Generator pods: load generators that a measurement starts in a cluster, and removes again.

``cluster.py`` says what is read and written there, ``nodes.py`` chooses the nodes, ``plan.py``
makes pods and paths of what was asked for, ``running.py`` starts, waits and removes, ``records.py``
remembers runs, so that what a killed one left is found.
"""
