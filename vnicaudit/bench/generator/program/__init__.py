"""Requests and answers, or a stream, over TCP: the program that runs at both ends.

It is sent to the ends, packed into one file (:mod:`vnicaudit.bench.generator.packing`), so
everything in this folder is Python 3.6 with only the standard library: the guests it runs in are as
old as RHEL 8. For the protocol, and what is counted, see docs/decisions/0007-own-generator.md.
"""
