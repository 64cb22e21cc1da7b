"""Lookup of tasks by name or path."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from functools import lru_cache
from importlib.metadata import EntryPoints, entry_points
from pathlib import Path

from vulcan.errors import UserError, did_you_mean
from vulcan.foreign_code import ForeignCall
from vulcan.task import Task
from vulcan.trust import is_trusted, trust

ENTRY_POINT_GROUP = "vulcan.tasks"


def built_in_directory() -> Path:
    """Return the directory of the built-in task packs: in an installed package, or next to it in a checkout."""
    package = Path(__file__).parent
    installed = package / "_tasks"
    return installed if installed.is_dir() else package.parent / "tasks"


def known_tasks() -> dict[str, str]:
    """Return every task that has a name, with its origin; the first source of a name wins."""
    found: dict[str, str] = {}
    for name, origin in _known():
        found.setdefault(name, origin)
    return found


class TaskNotTrusted(UserError):
    """A task pack that only data names: reading a run must not execute what its sender put there."""


def find_task(name_or_path: str) -> Task:
    """Return the task that the user names, or whose directory or `task.py` they name. Raises UserError.

    Data may name the same path from then on. For a name that stands in data there is `recorded_task`.
    """
    if _is_path(name_or_path):
        trust_task(Path(name_or_path))
    return load_task(name_or_path)


def trust_task(pack: Path) -> None:
    """Take a task pack as named by the user, so that data may name it from then on."""
    trust("tasks", str(_file_of(pack)))


def recorded_task(name_or_path: str) -> Task:
    """Return the task that a run, a library or a file names: a path only if the user has named it too.

    Raises UserError, a TaskNotTrusted for any other path.
    """
    if _is_path(name_or_path):
        file = _file_of(Path(name_or_path))
        if file.parent.parent != built_in_directory().resolve() and not is_trusted("tasks", str(file)):
            raise TaskNotTrusted(
                f"the task is a pack at {_path_shown(name_or_path)}, which is not executed, as nobody has named it on "
                "this machine: if it is yours, name it once, with --task PATH or `vulcan task validate PATH`"
            )
    return load_task(name_or_path)


def load_task(name_or_path: str) -> Task:
    """Return a task without asking who named it, in a process whose parent has. Raises UserError."""
    if _is_path(name_or_path):
        return _load_file(Path(name_or_path))
    for name, origin in _known():
        if name == name_or_path:
            return _load_entry_point(name) if origin == ENTRY_POINT_GROUP else _load_file(Path(origin))
    known = known_tasks()
    if (local := Path("tasks", name_or_path)).joinpath("task.py").is_file():
        raise UserError(f"no task is called {name_or_path!r}; the one in this directory is named ./{local}")
    raise UserError(
        f"no task is called {name_or_path!r}{did_you_mean(name_or_path, known)} (known: {', '.join(sorted(known))}; "
        "a task of your own is named by its directory, as ./tasks/mine)"
    )


def _known() -> Iterator[tuple[str, str]]:
    """Yield the built-in tasks first, and none of the working directory: that may be a stranger's checkout."""
    for origin in _packs(built_in_directory()):
        yield origin.name, str(origin)
    for entry in _installed(tuple(sys.path)):
        yield entry.name, ENTRY_POINT_GROUP


@lru_cache(maxsize=1)
def _installed(_path: tuple[str, ...]) -> EntryPoints:
    """Return the entry points of tasks on a module path; the scan takes as long as the rest of finding a task."""
    return entry_points(group=ENTRY_POINT_GROUP)


def _packs(directory: Path) -> list[Path]:
    return sorted(path.parent.resolve() for path in directory.glob("*/task.py"))


def _load_entry_point(name: str) -> Task:
    (entry, *_) = entry_points(group=ENTRY_POINT_GROUP, name=name)
    with (attempt := ForeignCall()):
        return _checked(entry.load(), entry.value)
    raise attempt.user_error(f"task {name!r}: its entry point {entry.value!r} does not load")


def _file_of(path: Path) -> Path:
    return (path if path.suffix == ".py" and not path.is_dir() else path / "task.py").resolve()


def _path_shown(path: str) -> str:
    return ascii(path)[1:-1] if len(path) <= 300 else ascii(path[:300])[1:-1] + "..."


def _load_file(path: Path) -> Task:
    if path.is_dir():
        path = path / "task.py"
    if not path.is_file():
        raise UserError(
            f"no task at {path}: a task is a directory with a task.py in it, as `vulcan task new` writes it"
        )
    path = path.resolve()
    module_name = f"vulcan_task_{path.parent.name}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise UserError(f"{path} is not a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    if str(path.parent) not in sys.path:  # a long-lived process loads a task many times
        sys.path.insert(0, str(path.parent))  # so that a task can have its evaluator in a file next to it
    with (attempt := ForeignCall()):
        spec.loader.exec_module(module)
        return _checked(getattr(module, "TASK", None), str(path))
    raise attempt.user_error(f"{path} does not load")


def _checked(task: object, origin: str) -> Task:
    if not isinstance(task, Task):
        raise UserError(
            f"{origin} defines no TASK of type vulcan.task.Task: declare one in it, as `vulcan task new` does"
        )
    return task


def task_reference(name_or_path: str) -> str:
    """Return the same name, or the path made absolute, so that it means the same in another process."""
    return str(Path(name_or_path).resolve()) if _is_path(name_or_path) else name_or_path


def _is_path(name_or_path: str) -> bool:
    return "/" in name_or_path or name_or_path.endswith(".py") or name_or_path in (".", "..")
