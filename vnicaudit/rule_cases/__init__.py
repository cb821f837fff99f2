"""Test cases of rules as data: the input of a rule, and the findings it must report."""
