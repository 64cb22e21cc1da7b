"""PROGRAM policies: free Python with hooks, for what Anvil cannot express.

A program is checked and translated by RestrictedPython in the parent, which never runs it (`check`), and runs only in
a sandboxed child (`runner`), which of this package imports just that module and `allowed`. It is asked for one
decision at a time (`policy`), so that it never sees anything later than a pending decision.

This file imports nothing, because a child loads it.
"""
