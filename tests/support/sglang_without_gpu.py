"""The package sglang without its front end, with empty modules for what it needs a GPU for."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

UNNEEDED = (
    "sgl_kernel",
    "sglang.kernels",
    "sglang.srt.configs",
    "sglang.srt.distributed",
    "sglang.srt.dllm",
    "sglang.srt.managers",
    "sglang.srt.mem_cache.allocator",
    "sglang.srt.mem_cache.hybrid_cache",
    "sglang.srt.mem_cache.memory_pool",
    "sglang.srt.mem_cache.swa_memory_pool",
    "sglang.srt.model_executor",
    "sglang.srt.multimodal",
    "sglang.srt.observability",
    "triton",
)
"""What its caches and its order of requests name in annotations only, or not at all without a GPU."""

NEEDED = (
    "sglang.srt.managers.schedule_policy",
    "sglang.srt.managers.scheduler_components.new_token_ratio_tracker",
    "sglang.srt.mem_cache.allocator.base",
)


class _Empty(ModuleType):
    """A module of which any class can be imported."""

    def __init__(self, name: str, path: list[str]) -> None:
        super().__init__(name)
        self.__path__ = path

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class _Unneeded(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes the empty modules."""

    def __init__(self, root: str) -> None:
        self.root = Path(root).parent

    def find_spec(self, name: str, path: object, target: object = None) -> importlib.machinery.ModuleSpec | None:
        if name not in NEEDED and any(name == known or name.startswith(f"{known}.") for known in UNNEEDED):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _Empty(spec.name, [str(self.root.joinpath(*spec.name.split(".")))])

    def exec_module(self, module: ModuleType) -> None:
        """Leave it empty."""


def import_sglang() -> None:
    """Have the imports that follow find the package like that."""
    if any(isinstance(each, _Unneeded) for each in sys.meta_path):
        return
    found = importlib.util.find_spec("sglang")
    assert found is not None and found.submodule_search_locations is not None
    package = ModuleType("sglang")
    package.__path__, package.__spec__ = list(found.submodule_search_locations), found
    sys.modules["sglang"] = package
    sys.meta_path.insert(0, _Unneeded(package.__path__[0]))
