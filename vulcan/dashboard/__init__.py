"""The live page: runs, and a search while it goes on, in a browser on the same machine."""
