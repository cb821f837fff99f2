# The part of the official client that is used here (vnicaudit/platforms/kubevirt/live/client.py).
# Its own types are of some versions only, and of everything.
