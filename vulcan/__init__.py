"""Vulcan: machine-written heuristics for computer systems.

`vulcan.search` searches for a policy. `vulcan.evaluate` measures policies
beside every baseline, `vulcan.explain` says where one does well or badly, `vulcan.compare` where two differ.
`vulcan.load` reads a run as a `vulcan.Run`: its tables are pandas frames, and its best policy is a `vulcan.Candidate`.
Invalid input raises `vulcan.UserError`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vulcan.api.policies import compare as compare
    from vulcan.api.policies import evaluate as evaluate
    from vulcan.api.policies import explain as explain
    from vulcan.api.run import Candidate as Candidate
    from vulcan.api.run import Run as Run
    from vulcan.api.search import load as load
    from vulcan.api.search import search as search
    from vulcan.errors import UserError as UserError

__version__ = "0.1.0"

_PLACES = {
    **dict.fromkeys(("Candidate", "Run"), "vulcan.api.run"),
    **dict.fromkeys(("compare", "evaluate", "explain"), "vulcan.api.policies"),
    **dict.fromkeys(("load", "search"), "vulcan.api.search"),
    "UserError": "vulcan.errors",
}
"""Names imported lazily: they load pandas and more, which `import vulcan` and the command line do not need."""


__all__ = [
    "Candidate",
    "Run",
    "UserError",
    "__version__",
    "compare",
    "evaluate",
    "explain",
    "load",
    "search",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_PLACES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES})
