"""Shell completion: what the Tab key offers, and the scripts of bash, zsh and fish."""
