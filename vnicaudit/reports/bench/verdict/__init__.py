"""The verdict of a measurement as it is read in five seconds, whatever it is written as."""
