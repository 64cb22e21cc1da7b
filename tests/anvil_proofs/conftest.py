"""The task and the program generator of the language's own tests serve here too."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "anvil"))
