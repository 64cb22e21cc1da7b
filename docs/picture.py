"""Makes the README's picture: a real command, run here, as an SVG of its output.

python docs/picture.py docs/images/search.svg vulcan search --task cache_eviction --trace TRACE --cache-size 10%
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys

from rich.console import Console
from rich.text import Text

WIDTH = 112


def main() -> None:
    target, *command = sys.argv[1:]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True,
        env={**os.environ, "COLUMNS": str(WIDTH)},
    )  # fmt: skip
    shown = [os.path.basename(word) if os.path.exists(word) else word for word in command]
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text("$ " + shlex.join(shown), style="bold green"))
    result = re.split(r"^Candidate \d+ won ", done.stdout, maxsplit=1, flags=re.MULTILINE)[0]  # details follow
    for line in result.rstrip().splitlines():
        console.print(Text(line.rstrip(), style="bold yellow" if line.lstrip().startswith("candidate ") else ""))
    console.save_svg(target, title="vulcan")


if __name__ == "__main__":
    main()
