"""What the exported modules of the cache tasks share.

A template (`tasks/*/export/python.py`) imports from here, and the exporter writes the imported modules into each module
in place of the import: so they import nothing but `math` and each other, and an exported module stands alone.
"""
