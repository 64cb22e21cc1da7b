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
from vulcan.export.c.double_header import double_header
from vulcan.export.c.fixed import RESULT_SCALE
from vulcan.export.c.fixed_header import fixed_header
from vulcan.export.c.fixed_point import NumberFormats
from vulcan.export.c.naming import member_of
from vulcan.export.c.statistic_groups import occasions

MAX_KEYS = 8
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


class Doubles:
    """A policy's C header in doubles, driven as `Policy.reference()` is; without an entity the key is None."""

    def __init__(self, policy: Policy, most_keys: int = MAX_KEYS) -> None:
        signature = policy.task.interface
        self.names = names_of(signature)
        self.has_entity = signature.entity is not None
        self.most_keys = most_keys
        self.occasions = occasions(signature)
        self.functions = {
            f.function: f"_{f.function}" if f in policy.task.others else "" for f in policy.task.functions
        }
        text = double_header(policy, provenance(policy.task.name))
        self.compiled = library({"policy.h": text, "driver.c": self.driver()}, "driver.c")
        self.text = text
        for suffix in self.functions.values():
            getattr(self.compiled, f"score{suffix}").restype = ctypes.c_double
        self.compiled.start()
        self.live: set[float | None] = set()
        self.block = (ctypes.c_double * len(self.names))()

    def driver(self) -> str:
        fill = "\n".join(f"    features.{member_of(name)} = values[{i}];" for i, name in enumerate(self.names))
        entity = "&entities[key], " if self.has_entity else ""
        declared = f"static struct policy_entity entities[{self.most_keys}];" if self.has_entity else ""
        begin = f"for (int i = 0; i < {self.most_keys}; i++) policy_entity_init(&entities[i]);"
        left = "policy_leave(&state, &entities[key]);" if self.has_entity else "(void)key;"
        entered = f"policy_{'enter' if self.has_entity else 'observe'}(&state, {entity}&features);"
        scores = "\n".join(
            f"double score{suffix}(int key, const double *values) "
            f"{{ (void)key; show(values); return policy_score{suffix}(&state, {entity}&features); }}"
            for suffix in self.functions.values()
        )
        observed = "\n".join(
            f"void observe_{o}(const double *values) {{ show(values); policy_observe_{o}(&state, &features); }}"
            for o in self.occasions
        )
        return f"""
#include "policy.h"
static struct policy_state state;
static struct policy_features features;
{declared}
static void show(const double *values) {{
    memset(&features, 0, sizeof features);
{fill}
}}
void start(void) {{ policy_init(&state); {begin if self.has_entity else ""} }}
void observe(int key, const double *values) {{ (void)key; show(values); policy_observe(&state, {entity}&features); }}
void enter(int key, const double *values) {{ (void)key; show(values); {entered} }}
void leave(int key) {{ {left} }}
{scores}
{observed}
"""

    def shown(self, values: Values) -> object:
        self.block[:] = [values[name] for name in self.names]
        return self.block

    def observe(self, key: float | None, values: Values) -> None:
        call = self.compiled.observe if key in self.live or key is None else self.compiled.enter
        call(int(key or 0) % self.most_keys, self.shown(values))
        self.live.add(key)

    def occur(self, occasion: str, values: Values) -> None:
        """The occasion has come."""
        getattr(self.compiled, f"observe_{occasion}")(self.shown(values))

    def leave(self, key: float) -> None:
        self.compiled.leave(int(key) % self.most_keys)
        self.live.remove(key)

    def score(self, key: float | None, values: Values, function: str | None = None) -> float:
        """What the function of that name gives, or the main one."""
        suffix = self.functions[function] if function is not None else ""
        return getattr(self.compiled, f"score{suffix}")(int(key or 0) % self.most_keys, self.shown(values))


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
