"""On a cloud, and with the programs that stand between it and here."""
