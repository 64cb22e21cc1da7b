"""PROGRAM policies: free Python with hooks, for what Anvil cannot express.

A program is checked and translated by RestrictedPython in the parent, which never runs it (`check`), and runs in a
child of the sandbox alone (`runner`), which imports nothing but that module of this package and `offered`. What it
decides is asked of it one decision at a time (`running`), so that it never sees what comes after an open one.

This file imports nothing, for a child loads it.
"""
