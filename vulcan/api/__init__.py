"""The Python API of Vulcan: `vulcan.search` and `vulcan.load`, and the objects that they return.

The command line starts and resumes searches through the same module (`vulcan.api.launch`).
"""
