"""Shell completion: the scripts for bash, zsh and fish, and the answers to them."""
