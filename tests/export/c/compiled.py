"""Exports policies as C, compiles them with gcc and calls what comes out."""

from __future__ import annotations

import ctypes
import hashlib
import math
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from c_programs import names_of, provenance

from vulcan.anvil import Policy
from vulcan.export.c.fixed import RESULT_SCALE
from vulcan.export.c.fixed_header import fixed_header
from vulcan.export.c.fixed_point import NumberFormats
from vulcan.export.c.statistic_groups import occasions

_FLAGS = ("-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-ffp-contract=off")
SANITISED = ("-std=gnu11", "-O1", "-w", "-shared", "-fPIC",
             "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error")  # fmt: skip
"""For integers: what C leaves undefined ends the process."""
_built = tempfile.TemporaryDirectory(prefix="exported-c-")

Values = Mapping[str, float]


def library(files: dict[str, str], main: str, flags: tuple[str, ...] = _FLAGS) -> ctypes.CDLL:
    """The files compiled into a shared library, `main` being the one to compile."""
    folder = Path(_built.name) / hashlib.sha256(repr((files, flags)).encode()).hexdigest()[:16]
    made = folder / "made.so"
    if not made.exists():
        folder.mkdir(exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text)
        done = subprocess.run(
            ["gcc", *flags, "-o", str(made), main, "-lm"], cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[:3000]
    return ctypes.CDLL(str(made))


class Integers:
    """A policy's C header in scaled integers, driven as `Policy.reference()` is, of a task without an entity."""

    def __init__(self, policy: Policy, text: str | None = None) -> None:
        signature = policy.task.signature
        self.names = names_of(signature)
        kinds = NumberFormats(policy.program, signature)
        self.scales = {name: kinds.feature(name).scale for name in self.names if name in used_by(policy)}
        self.text = text or fixed_header(policy, provenance(policy.task.name))
        self.occasions = occasions(signature)
        self.compiled = library({"policy.h": self.text, "driver.c": self.driver()}, "driver.c", SANITISED)
        self.compiled.score.restype = ctypes.c_longlong
        self.compiled.start()
        self.block = (ctypes.c_longlong * max(1, len(self.scales)))()

    def driver(self) -> str:
        fill = "\n".join(
            f"    policy_set_{name.replace('.', '_')}(&features, values[{i}], {scale});"
            for i, (name, scale) in enumerate(self.scales.items())
        )
        observed = "\n".join(
            f"void observe_{o}(const long long *values) {{ show(values); policy_observe_{o}(&state, &features); }}"
            for o in self.occasions
        )
        return f"""
#include "policy.h"
static struct policy_state state;
static struct policy_features features;
static void show(const long long *values) {{
    (void)values;
{fill}
}}
void start(void) {{ policy_init(&state); }}
long long score(const long long *values) {{ show(values); return policy_score(&state, &features); }}
void observe(const long long *values) {{ show(values); policy_observe(&state, &features); }}
{observed}
"""

    def shown(self, values: Values) -> object:
        limit = 2**63 - 1
        scaled = (round(math.ldexp(values[name], scale)) for name, scale in self.scales.items())
        self.block[: len(self.scales)] = [min(max(value, -limit), limit) for value in scaled]
        return self.block

    def observe(self, values: Values, occasion: str | None = None) -> None:
        call = self.compiled.observe if occasion is None else getattr(self.compiled, f"observe_{occasion}")
        call(self.shown(values))

    def score(self, values: Values) -> float:
        return self.compiled.score(self.shown(values)) / 2.0**RESULT_SCALE


def used_by(policy: Policy) -> set[str]:
    """The features and answers of histories that a policy reads."""
    plan = policy.plan
    return {*plan.features, *(s.feature for s in plan.statistics), *(f"{q.history}.{q.query}" for q in plan.queries)}
