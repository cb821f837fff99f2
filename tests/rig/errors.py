"""What can go wrong in the rig.

RigError              a build, a boot or a command failed
├── KernelPanicError  a guest's kernel has stopped
└── Missing           this machine lacks something; the tests that need it are not run
    └── NotFetched    a package, or the list of them
"""


class RigError(Exception):
    """A build, a boot or a command of the rig failed."""


class KernelPanicError(RigError):
    """The kernel of a guest has stopped."""


class Missing(RigError):
    """This machine lacks something the rig needs; the message says what."""


class NotFetched(Missing):
    """Something of the Debian archive cannot be fetched."""
