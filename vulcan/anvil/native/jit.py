"""JIT: from LLVM's textual IR to callable machine code."""

from __future__ import annotations

import ctypes
import itertools
from functools import cache, lru_cache
from typing import Any

import llvmlite.binding as llvm

from vulcan.anvil.native.runtime import runtime_addresses

LIBRARY = {"pow": 2, "fmod": 2, **dict.fromkeys(
    ("exp", "expm1", "log", "log1p", "log2", "log10", "tanh", "atan", "sin", "cos"), 1)}  # fmt: skip
"""Functions of the mathematical library that policies call, with the number of their arguments.

They are called by address, under names unknown to LLVM, so that it neither folds nor replaces them: the result is
then bit for bit that of CPython with the same library.
"""


LINKS_BEFORE_RENEWAL = 64
"""Links before the linker is replaced: it retains some 10 KB per library; linked code lives while it is used."""


_links = itertools.count()


@lru_cache(maxsize=1)
def _linker(generation: int) -> Any:
    """Return LLVM's just-in-time linker; another one for each generation."""
    return llvm.create_lljit_compiler(_new_target_machine())


@cache
def _target_machine(hurried: bool = False) -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return _new_target_machine(hurried)


def _new_target_machine(hurried: bool = False) -> Any:
    """Create a target machine; `hurried` selects LLVM's fast code generator with its local register allocation."""
    return llvm.Target.from_default_triple().create_target_machine(
        opt=0 if hurried else 2,
        jit=True,
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
    )


@cache
def _symbols() -> dict[str, int]:
    library = ctypes.CDLL(None)
    symbols = {f"anvil_{name}": ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in LIBRARY}
    symbols["memcpy"] = ctypes.cast(library.memcpy, ctypes.c_void_p).value
    return {name: address for name, address in symbols.items() if address is not None} | runtime_addresses()


def link(text: str, exported: tuple[str, ...], hurried: bool = False) -> Any:
    """Compile the module; return a mapping from each exported name to its address, valid while it lives.

    `hurried` compiles in less than half the time; the code is up to a third slower, its results are bit-identical.
    """
    target = _target_machine(hurried)
    module = llvm.parse_assembly(text)
    passes, builder = _passes(hurried)
    passes.run(module, builder)
    library = llvm.JITLibraryBuilder().add_object_img(target.emit_object(module))
    for name, address in _symbols().items():
        if f"@{name}(" in text or f"@llvm.{name}." in text:
            library.import_symbol(name, address)
    for name in dict.fromkeys(exported):
        library.export_symbol(name)
    return library.link(_linker(next(_links) // LINKS_BEFORE_RENEWAL), exported[0])


@cache
def _passes(hurried: bool) -> tuple[Any, Any]:
    """Return the passes that matter for straight-line arithmetic; LLVM's whole pipeline takes three times as long.

    Hurried code gets only inlining and registers for its locals, which leave the fast code generator less to do.
    """
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    passes = llvm.newpassmanagers.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    if not hurried:
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
        passes.add_new_gvn_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
    return passes, llvm.create_pass_builder(_target_machine(hurried), options)


def warm_up() -> None:
    """Load everything that compiling needs, so that a process may then give up file access."""
    for hurried in (False, True):
        _passes(hurried)
    _symbols()
