"""Knowledge of nova.conf: the options that each release of Nova knows, and how it reads them."""
