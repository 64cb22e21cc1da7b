"""Many policies exported to a language in one program, and what it prints for a script of events written as code."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from c_programs import KEYS, SEED, Values, names_of, provenance

from vulcan.anvil import Policy
from vulcan.anvil.interpreter import Reference
from vulcan.export.c.own_state import GENERATOR
from vulcan.export.languages.printer import PolicyFile
from vulcan.export.languages.table import GO, JAVA, RUST, Language

MAKERS: Mapping[str, Sequence[str]] = {"java": ("javac", "java"), "go": ("go",), "rust": ("rustc",)}


def missing(language: Language) -> str:
    """The first tool that is not there; empty if the language can be run."""
    return next((tool for tool in MAKERS[language.name] if shutil.which(tool) is None), "")


class LanguageProgram(ABC):
    """One policy in a language, and the lines of code of its script. Raises UserError where it cannot be exported."""

    language: Language
    started: str
    changed: str
    printed: str
    shown = "features"
    seeded = "{state}.{generator} = {seed};"

    def __init__(self, number: int, policy: Policy) -> None:
        self.policy = policy
        self.file = PolicyFile(policy, self.language)
        self.text = self.file.text(provenance(policy.task.name))
        self.handlers = {h.name: policy.task.event(h.name) for h in policy.program.handlers}
        self.expected: list[tuple[str, float]] = []
        self.interface = self.file.signature
        self.names = [name for name in names_of(self.interface) if name in self.file.places]
        fields = [f"fields{key}" for key in range(KEYS)] if self.file.keeps_fields else []
        controls = ["controls"] if self.file.own_state.controls() else []
        kinds = {"state": "State", "features": "Features", "controls": "Controls"}
        self.lines = [
            self.started.format(name=name, type=kinds.get(name, "Fields"))
            for name in ("state", "features", *controls, *fields)
        ]
        if policy.plan.draws:
            generator = self.language.public(GENERATOR)
            self.lines.append(self.seeded.format(state="state", generator=generator, seed=self.word(SEED)))

    def word(self, value: int) -> str:
        return str(value)

    def tell(self, event: str, key: float | None, values: Values | None = None) -> None:
        """Let it observe, or an event happen; a release forgets an entity's fields."""
        called = self.language.public({"enter": "observe"}.get(event, event))
        if self.policy.plan.statistics and called in dict(self.file.observing()):
            fields = [self.changed.format(f"fields{int(key or 0)}")] * (self.file.keeps_fields and key is not None)
            if event != "leave":
                self.show(values or {})
            shown = [] if event == "leave" else [self.shown]
            self.lines.append(f"{called}({', '.join([self.changed.format('state'), *fields, *shown])});")
        if event == "release" and self.file.keeps_fields:
            made = self.started.format(name=f"fields{int(key or 0)}", type="Fields")
            self.lines.append(
                made.replace("Fields fields", "fields")
                .replace(":=", "=")
                .replace("let mut ", "")
                .replace(f" _ = fields{int(key or 0)};", "")
            )
        if event in self.handlers:
            self.show(values or {})
            self.call(event, key, self.handlers[event].controls != ())

    def show(self, values: Values) -> None:
        for name in self.names:
            self.lines.append(f"{self.file.feature(name)} = {self.file.number(values[name])};")

    def called(self, function: str, key: float | None, controls: bool) -> str:
        is_handler = function in self.handlers
        pass_on = self.changed if is_handler else "{}"
        arguments = [pass_on.format("state")]
        if self.file.keeps_fields and (not is_handler or self.file.own_state.shows_entity(function)):
            arguments.append(pass_on.format(f"fields{int(key or 0)}"))
        arguments.append("features")
        arguments += [pass_on.format("controls")] * (is_handler and controls)
        return f"{self.file.callable(function)}({', '.join(arguments)})"

    def call(self, function: str, key: float | None, controls: bool) -> None:
        if controls:
            for event in self.handlers.values():
                self.lines += [f"{self.file.variable(name)} = 0.0;" for name in event.settable]
        self.lines.append(self.called(function, key, controls) + ";")

    def ask(self, function: str, key: float | None, values: Values, expected: float) -> None:
        self.show(values)
        self.print_out(self.called(function, key, controls=False), function, expected)

    def control(self, name: str, expected: float) -> None:
        event = next(e for e in self.handlers.values() for c in e.settable if c.endswith(f".{name}"))
        place = next(c for c in event.settable if c.endswith(f".{name}"))
        self.print_out(self.file.variable(place), name, expected)

    def dump(self, key: float | None, reference: Reference) -> None:
        for variable in self.policy.program.variables:
            place = self.file.variable(variable.name).replace("fields.", f"fields{int(key or 0)}.")
            for index in range(variable.length or 0):
                value = reference._element(variable.name, index)
                self.print_out(f"{place}[{index}]", variable.name, value)
            if variable.length is None:
                self.print_out(place, variable.name, reference._cell(variable.name, key))

    def print_out(self, value: str, what: str, expected: float) -> None:
        self.lines.append(self.printed.format(value))
        self.expected.append((what, expected))

    @classmethod
    def run(cls, programs: Sequence[LanguageProgram], folder: Path) -> Iterator[float]:
        """Compile and run the programs, and yield what they print."""
        for line in cls.output(programs, folder).split():
            yield struct.unpack(">d", bytes.fromhex(line.zfill(16)))[0]

    @staticmethod
    @abstractmethod
    def output(programs: Sequence[LanguageProgram], folder: Path) -> str:
        """Compile and run the programs, and return what they print: a number in hex a line."""


class Java(LanguageProgram):
    language = JAVA
    started = "{type} {name} = new {type}();"
    changed = "{}"
    printed = "System.out.println(Long.toHexString(Double.doubleToRawLongBits({})));"

    def word(self, value: int) -> str:
        return f"{value - 2**64}L"

    @staticmethod
    def output(programs: Sequence[LanguageProgram], folder: Path) -> str:
        for number, program in enumerate(programs):
            (folder / f"p{number}").mkdir()
            script = "static void run() {\n" + "\n".join(program.lines) + "\n}\n}\n"
            text = program.text.rstrip().removesuffix("}") + script.replace("static void", "public static void")
            (folder / f"p{number}/Policy.java").write_text(f"package p{number};\n{text}")
        runs = "\n".join(f"p{number}.Policy.run();" for number in range(len(programs)))
        (folder / "Main.java").write_text(f"class Main {{ public static void main(String[] none) {{\n{runs}\n}} }}\n")
        quickly = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")  # they run for a second
        run("javac", *(f"-J{option}" for option in quickly), "-Xlint:all", "-Werror", "Main.java", folder=folder)
        return run("java", *quickly, "Main", folder=folder)


class Go(LanguageProgram):
    language = GO
    started = "{name} := New{type}(); _ = {name};"
    changed = "{}"
    printed = 'fmt.Printf("%x\\n", math.Float64bits({}));'

    @staticmethod
    def output(programs: Sequence[LanguageProgram], folder: Path) -> str:
        (folder / "go.mod").write_text("module many\n\ngo 1.18\n")
        for number, program in enumerate(programs):
            (folder / f"p{number}").mkdir()
            (folder / f"p{number}/policy.go").write_text(program.text)
            script = 'package policy\nimport ("fmt"; "math")\nfunc Run() {\n' + "\n".join(program.lines) + "\n}\n"
            (folder / f"p{number}/run.go").write_text(script)
        imports = "\n".join(f'import p{number} "many/p{number}"' for number in range(len(programs)))
        runs = "\n".join(f"p{number}.Run()" for number in range(len(programs)))
        (folder / "main.go").write_text(f"package main\n{imports}\nfunc main() {{\n{runs}\n}}\n")
        return run("go", "run", ".", folder=folder)


class Rust(LanguageProgram):
    language = RUST
    started = "let mut {name} = {type}::new();"
    changed = "&mut {}"
    shown = "&features"
    printed = 'println!("{{:x}}", {}.to_bits());'

    def called(self, function: str, key: float | None, controls: bool) -> str:
        text = super().called(function, key, controls)
        head, _, arguments = text.partition("(")
        shown = [a if a.startswith("&") else f"&{a}" for a in arguments.removesuffix(")").split(", ")]
        return f"{head}({', '.join(shown)})"

    @staticmethod
    def output(programs: Sequence[LanguageProgram], folder: Path) -> str:
        for number, program in enumerate(programs):
            script = "pub fn run() {\n" + "\n".join(program.lines) + "\n}\n"
            (folder / f"p{number}.rs").write_text(f"{program.text}\n{script}")
        modules = "\n".join(f"mod p{number};" for number in range(len(programs)))
        runs = "\n".join(f"p{number}::run();" for number in range(len(programs)))
        (folder / "main.rs").write_text(f"{modules}\nfn main() {{\n{runs}\n}}\n")
        run("rustc", "-O", "-D", "warnings", "main.rs", folder=folder)
        return run("./main", folder=folder)


def run(*command: str, folder: Path) -> str:
    environment = {**os.environ, "GOFLAGS": "-mod=mod", "GOCACHE": str(folder.parent / "go")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stderr[:3000]}{done.stdout[-1000:]}"
    return done.stdout
