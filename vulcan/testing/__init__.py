"""The conformance suite: what every task promises, tried on one. For the command line, and for pytest.

In a test file of one's own task:

    from vulcan.testing import TaskConformance

    class TestMine(TaskConformance):
        task = "./tasks/mine"

`TaskConformance` has a test for each of `CHECKS`; `examine` runs them all and tells what to mend.
"""

from vulcan.testing.check import Check, CheckFailed, Finding, Subject
from vulcan.testing.suite import CHECKS, TaskConformance, examine

__all__ = ["CHECKS", "Check", "CheckFailed", "Finding", "Subject", "TaskConformance", "examine"]
