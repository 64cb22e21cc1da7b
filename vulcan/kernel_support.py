"""The set-up of numba, and the decorators with which every kernel is compiled.

Kernels import numba and LLVM's builder from here, never directly: numba reads its cache directory on its first import.
"""

from __future__ import annotations

import functools
import importlib
import logging
import os
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vulcan.files import report_uncached
from vulcan.imports import import_without
from vulcan.paths import keep_compiled_kernels_in_cache

log = logging.getLogger(__name__)


def _load_numba() -> Any:
    """Import numba with its cache in the user's cache directory, and without SciPy.

    numba looks for SciPy's BLAS when it loads its array functions, and so loads all of `scipy.linalg`: a quarter of a
    scoring child's start-up time. Code that needs BLAS still gets it, because numba looks again where it is used; only
    numba's convolutions then fall back to their own loops.
    """
    keep_compiled_kernels_in_cache()
    import_without("numba.np.arraymath", hidden="scipy.linalg.cython_blas")
    caching = importlib.import_module("numba.core.caching")
    _save_kernels_if_there_is_room(caching.Cache)
    _share_kernels_between_copies(caching._CacheLocator)
    _compare_flags_at_once(importlib.import_module("numba.core.targetconfig").TargetConfig)
    return importlib.import_module("numba")


def _save_kernels_if_there_is_room(numba_cache: Any) -> None:
    """Have numba go on with a kernel that cannot be saved, such as on a full disk; it raises an OSError otherwise."""
    save = numba_cache.save_overload

    def save_overload(self: Any, signature: Any, data: Any) -> None:
        try:
            save(self, signature, data)
        except OSError as error:
            report_uncached(Path(self.cache_path), error)

    numba_cache.save_overload = save_overload


def _share_kernels_between_copies(locator: Any) -> None:
    """Have each copy of this version find the kernels of the others: numba keeps those of every directory apart."""
    home, subpath = re.escape(str(Path(__file__).parents[1])), locator.get_suitable_cache_subpath
    ours = re.compile(rf"{home}/(evaluators/|traces/)?(?=vulcan\w*/)")  # a checkout's, or as a wheel has them
    locator.get_suitable_cache_subpath = staticmethod(lambda file: subpath(ours.sub("/", file)))


def _compare_flags_at_once(config: Any) -> None:
    """Have numba read all flags at once, not by a property each, where it compares them: a tenth of what it takes."""
    defaults = functools.cache(lambda kind: {name: option.default for name, option in kind.options.items()})
    config.values = lambda self: {**defaults(self.__class__), **self._values}


_numba = _load_numba()
cfunc, types, carray, from_dtype = _numba.cfunc, _numba.types, _numba.carray, _numba.from_dtype
njit: Any = functools.partial(_numba.njit, no_cfunc_wrapper=True)  # only functions passed as values need one
F1, F2, F3 = (types.Array(types.float64, dimensions, "C") for dimensions in (1, 2, 3))
I1, I2, I3 = (types.Array(types.int64, dimensions, "C") for dimensions in (1, 2, 3))
B1, B2 = (types.Array(types.uint8, dimensions, "C") for dimensions in (1, 2))
RF1, RF2 = (types.Array(types.float64, dimensions, "C", readonly=True) for dimensions in (1, 2))
RI1, RI2 = (types.Array(types.int64, dimensions, "C", readonly=True) for dimensions in (1, 2))
RB2 = types.Array(types.uint8, 2, "C", readonly=True)
"""Arrays in the signatures of kernels: of floats, integers and bytes, of so many dimensions, to be written or read."""

_subpath: Any = importlib.import_module("numba.core.caching")._CacheLocator.get_suitable_cache_subpath
intrinsic: Any = importlib.import_module("numba.extending").intrinsic
ir: Any = importlib.import_module("llvmlite.ir")
cgutils: Any = importlib.import_module("numba.core.cgutils")

_compile = functools.partial(njit, nogil=True, error_model="numpy")


@functools.cache
def _called_from_python(callee: Any) -> Any:
    return _compile(**{name: value for name, value in callee.targetoptions.items() if name == "_nrt"})(callee.py_func)


_Callee: Any = type(
    "Callee",
    (importlib.import_module("numba.core.dispatcher").Dispatcher,),
    {"__call__": lambda self, *arguments: _called_from_python(self)(*arguments)},
)
"""A function that kernels call: its wrapper for Python, which often takes longer to compile, is compiled if called."""


def _callee(**options: Any) -> Any:
    def decorate(implementation: Any) -> Any:
        compiled = _compile(no_cpython_wrapper=True, **options)(implementation)
        compiled.__class__ = _Callee
        return compiled

    return decorate


# Without numba's reference counting (`_nrt=False`), which costs two atomic operations wherever an array is passed on;
# functions compiled this way cannot allocate arrays.
lazy_kernel: Any = _compile(cache=True, _nrt=False)
"""Decorator of a function called from Python: compiled on its first call, and cached on disk."""

helper: Any = _callee(forceinline=True, _nrt=False)
"""Decorator of a function called from kernels: force-inlined, even where LLVM would keep a large one a call."""

function: Any = _callee(_nrt=False)
"""Decorator of a function called from kernels: compiled once per kernel; LLVM decides whether to inline it."""

allocating_helper: Any = _callee()
"""Like `function`, for a function that may allocate arrays."""


def kernel(signature: Any) -> Any:
    """Decorate a function called from Python: compiled on import of its module, or loaded from the disk cache."""
    return _announced(_compile(signature, cache=True, _nrt=False))


def allocating_kernel(signature: Any) -> Any:
    """Decorate as `kernel` does, for a function that may allocate arrays."""
    return _announced(_compile(signature, cache=True))


@functools.cache
def _announce(package: str) -> None:
    log.warning("compiling kernels of %s that this machine has not run yet: about a minute", package)


@contextmanager
def _terminable() -> Iterator[None]:
    """Have SIGTERM end the process at once: while LLVM compiles no handler of Python would run."""
    handler = signal.getsignal(signal.SIGTERM)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, handler)


def _announced(compile: Any) -> Any:
    """Return a decorator that says once for a package, as a warning, that kernels must be compiled first."""

    def decorate(implementation: Any) -> Any:
        name = f"{implementation.__module__.rpartition('.')[2]}.{implementation.__qualname__}"
        name = name.replace("<", "").replace(">", "")  # as numba names its files
        place = _subpath(implementation.__code__.co_filename)  # other packages have kernels of that name
        if not any(Path(os.environ["NUMBA_CACHE_DIR"], place).glob(f"{name}-*.nbi")):
            _announce(implementation.__module__.partition(".")[0])
            with _terminable():
                return compile(implementation)
        return compile(implementation)

    return decorate
