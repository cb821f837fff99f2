"""The release of this project, from which a pipeline installs it."""

from tests.packaging.conftest import released as released
