"""Tell others what is new: once for each finding, channel and day, with secrets by reference."""
