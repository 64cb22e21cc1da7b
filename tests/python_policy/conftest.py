"""The chat server is that of the models' tests, and the console that of the command line's."""
