"""The conformance suite for tasks, for the command line and for pytest.

To test a task of your own:

    from vulcan.testing import TaskConformance

    class TestMine(TaskConformance):
        task = "./tasks/mine"

`TaskConformance` has a test for each of `CHECKS`; `examine` runs them all and says what to fix.
"""

from vulcan.documents.policy import TaskCheck
from vulcan.testing.check import Check, CheckFailed, Subject
from vulcan.testing.suite import CHECKS, TaskConformance, examine

__all__ = ["CHECKS", "Check", "CheckFailed", "Subject", "TaskCheck", "TaskConformance", "examine"]
