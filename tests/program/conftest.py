"""The chat server is that of the models' tests, and the console that of the command line's."""

import sys
from pathlib import Path

sys.path += [str(Path(__file__).resolve().parents[1] / place) for place in ("models", "cli")]
