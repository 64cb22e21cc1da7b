"""What Java, Go and Rust spell differently. Where they agree, the printer and `total.txt` write it for all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

Member = tuple[str, str, str, str]
"""A member of a structure: its name, its type (`number`, `array` or `word`), its initial value and its remark."""

_WORDS = """
    abstract as assert async await boolean box break byte case catch chan char class const continue crate default defer
    do double dyn else enum extends extern fallthrough false final finally float fn for func gen go goto if impl
    implements import in instanceof int interface internal let long loop macro map match math mod move mut native new
    nil null package override priv private protected pub public range ref return self short static strictfp struct super
    switch synchronized this throw throws trait transient true try type typeof union unsafe unsized use var virtual void
    volatile where while yield
    append bool cap clear close complex copy delete error float64 imag init len main make max min panic print println
    real recover string uint64 f64 i64 u64 usize std vec
    equals hashcode finalize notify wait getclass clone tostring
    state fields features controls
"""
WORDS = frozenset(_WORDS.split())
"""What names of a policy must not be in one of them."""


@dataclass(frozen=True)
class Language:
    """The spelling of one language; texts in braces are places of `str.format`."""

    name: str
    file: str
    needs: str
    head: str
    types: Mapping[str, str]
    constant: str
    local: str
    turn: str
    loop: str
    unused: str
    function: str
    handler: str
    argument: str
    shown: str
    changed: str
    structure: str
    member: str
    array: str
    index: str
    """The place in an array of a number."""
    choose: str
    math: Mapping[str, str]
    """Functions of the mathematical library by C's names, with the empty name what precedes the others."""
    new: tuple[str, str, str] = ("", "", "")
    """The function that makes a structure: its opening, each member, and its end."""
    product: str = "{} * {}"
    negative_zero: str = "(-0.0)"
    literal: str = "{}"
    """A call around one of literals that alone are computed with."""
    opaque: str = "{}"
    repeat: str = "while"
    arrays: tuple[str, str] = ("double[] {}", "double[] {}")
    """An array as the argument of a function that reads it, and of one that changes it."""
    passed: tuple[str, str] = ("{}", "{}")
    """The array that it is called with."""
    put: str = "{place} = {value};"
    tail: str = ""
    has_packages: bool = False
    """Whether several files make a package, each with imports of its own."""
    of_own: frozenset[str] = field(default_factory=frozenset)
    """Functions whose last bits are the language's own."""
    public: Callable[[str], str] = str

    def spelled(self, text: str) -> str:
        """Put the language's functions of the mathematical library in place of C's."""
        text = re.sub(r"\bOPAQUE\((\w+)\)", lambda found: self.opaque.format(found[1]), text)
        text = re.sub(r"\bAT\((\w+), ([^()]+)\)", lambda found: f"{found[1]}[{self.index.format(found[2])}]", text)
        return _MATH.sub(lambda found: f"{self.math.get(found[1], self.math[''] + self.public(found[1]))}(", text)

    def total(self, text: str) -> str:
        """Return functions of `total.txt` in the language."""

        def opening(found: re.Match[str]) -> str:
            kinds = {"": self.argument, "SHOWN": self.arrays[0], "CHANGED": self.arrays[1]}
            words = (argument.rpartition(" ") for argument in found[3].split(", "))
            arguments = ", ".join(kinds[kind].format(name) for kind, _, name in words)
            kind = self.function if found[1] == "FUNCTION" else self.handler
            return kind.format(name=found[2], arguments=arguments)

        text = re.sub(r"^(FUNCTION|PROCEDURE) (\w+)\((.*)\)$", opening, text, flags=re.MULTILINE)
        text = re.sub(r"LET (\w+) = (.*);", lambda found: self.local.format(name=found[1], value=found[2]), text)
        return self.spelled(text.replace("LARGEST", "1.7976931348623157e308").replace("WHILE", self.repeat))

    def struct(self, name: str, remark: str, members: Sequence[Member]) -> str:
        """Return a structure and, where the language has none, the function that makes it."""
        opening, each, end = self.new
        lines = [f"/* {remark} */", self.structure.format(name=name)]
        for own, kind, value, about in members:
            lines += [f"    /* {about} */"] * bool(about)
            lines.append("    " + self.member.format(name=self.public(own), type=self.types[kind], value=value))
        lines.append("}")
        if opening:
            made = (f"        {each.format(name=self.public(own), value=value)}" for own, _, value, _ in members)
            lines += ["", opening.format(name=name), *made, end]
        return "\n".join(lines)


_MATH = re.compile(
    r"(?<![.\w:])(rint|trunc|floor|ceil|fabs|fmod|copysign|pow|exp|expm1|log|log2|log10|log1p|sqrt|tanh|atan|sin|cos)\("
)
_LIBRARY = frozenset(["power", "exp", "expm1", "log", "log2", "log10", "log1p", "tanh", "atan", "sin", "cos"])


JAVA = Language(
    name="java",
    file="Policy.java",
    needs="It needs Java 17.",
    head="public final class Policy {",
    tail="}",
    types={"number": "double", "array": "double[]", "word": "long"},
    constant="static final double {name} = {value};",
    local="double {name} = {value};",
    turn="(double) ({})",
    loop="for (int {counter} = 0; {counter} < {trips}; {counter}++) {{",
    unused="{{ double {name} = {value}; }}",
    function="static double {name}({arguments}) {{",
    handler="static void {name}({arguments}) {{",
    argument="double {}",
    shown="{type} {name}",
    changed="{type} {name}",
    structure="static final class {name} {{",
    member="{type} {name} = {value};",
    array="policy_filled({length}, {value})",
    index="(int) ({})",
    choose="({test} ? {then} : {otherwise})",
    math={"": "StrictMath.", "fabs": "Math.abs", "copysign": "Math.copySign"}
    | {"fmod": "policy_fmod", "trunc": "policy_trunc", "log2": "policy_binary_log"},
    of_own=_LIBRARY,
)
GO = Language(
    name="go",
    file="policy.go",
    needs="It needs Go 1.18.",
    head='package policy\n\nimport "math"\n\nvar _ = math.Pi',
    types={"number": "float64", "array": "[]float64", "word": "uint64"},
    constant="var {name} float64 = {value}",
    local="var {name} float64 = {value}; _ = {name}",
    turn="float64({})",
    loop="for {counter} := 0; {counter} < {trips}; {counter}++ {{",
    unused="_ = {value};",
    function="func {name}({arguments}) float64 {{",
    handler="func {name}({arguments}) {{",
    argument="{} float64",
    shown="{name} *{type}",
    changed="{name} *{type}",
    structure="type {name} struct {{",
    member="{name} {type}",
    array="policy_filled({length}, {value})",
    index="int({})",
    choose="policy_choose({test}, {then}, {otherwise})",
    math={"": "math.", "rint": "math.RoundToEven", "fabs": "math.Abs", "fmod": "math.Mod"},
    new=("func New{name}() *{name} {{\n    return &{name}{{", "{name}: {value},", "    }\n}"),
    product="float64({} * {})",
    negative_zero="math.Copysign(0.0, -1.0)",
    literal="policy_number({})",
    repeat="for",
    arrays=("{} []float64", "{} []float64"),
    has_packages=True,
    of_own=_LIBRARY,
    public=lambda name: name[:1].upper() + name[1:],
)
RUST = Language(
    name="rust",
    file="policy.rs",
    needs="It needs Rust 1.77.",
    head="#![allow(dead_code, unused_variables, unused_mut, unused_assignments, unused_parens, unreachable_code)]\n"
    "#![allow(non_snake_case, non_upper_case_globals, clippy::all)]",
    types={"number": "f64", "array": "Vec<f64>", "word": "u64"},
    constant="const {name}: f64 = {value};",
    local="let mut {name}: f64 = {value};",
    turn="(({}) as f64)",
    loop="for {counter} in 0..{trips}i64 {{",
    unused="let _: f64 = {value};",
    function="pub fn {name}({arguments}) -> f64 {{",
    handler="pub fn {name}({arguments}) {{",
    argument="mut {}: f64",
    shown="{name}: &{type}",
    changed="{name}: &mut {type}",
    structure="#[derive(Clone, Debug)]\npub struct {name} {{",
    member="pub {name}: {type},",
    array="vec![{value}; {length}]",
    index="({}) as usize",
    choose="(if {test} {{ {then} }} else {{ {otherwise} }})",
    math={"": "f64::", "rint": "f64::round_ties_even", "fabs": "f64::abs", "fmod": "policy_fmod", "pow": "f64::powf"}
    | {"expm1": "f64::exp_m1", "log": "f64::ln", "log1p": "f64::ln_1p"},
    new=("impl {name} {{ pub fn new() -> {name} {{\n    {name} {{", "{name}: {value},", "    }\n} }"),
    opaque="std::hint::black_box({})",
    arrays=("{}: &[f64]", "{}: &mut [f64]"),
    passed=("&{}", "&mut {}"),
    put="{{ let value: f64 = {value}; {place} = value; }}",
)
LANGUAGES = (JAVA, GO, RUST)
