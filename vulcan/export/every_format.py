"""A policy in every format that it can be written in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from vulcan.errors import UserError
from vulcan.export.exporter import Exporter, export_policy, exporters_of
from vulcan.export.provenance import Provenance
from vulcan.program.interface import AnyPolicy


@dataclass(frozen=True, slots=True)
class Attempt:
    """A format, and the policy's files in it, by name and the main one first; or else why there are none."""

    exporter: Exporter
    files: Mapping[str, str] = field(default_factory=dict)
    refusal: str = ""

    @property
    def format(self) -> str:
        return self.exporter.format

    @property
    def use(self) -> str:
        """One line on how it is used; empty where it was refused."""
        return "" if self.refusal else self.exporter.how_to_use(next(iter(self.files)))


def every_format(
    policy: AnyPolicy, provenance: Provenance, others: Mapping[str, Exporter] | None = None
) -> list[Attempt]:
    """What comes of each format of the policy's task, and of `others`. Raises UserError where the pack is broken."""
    return [
        _attempt(policy, exporter, provenance, others)
        for exporter in {**exporters_of(policy.task), **(others or {})}.values()
    ]


def _attempt(
    policy: AnyPolicy, exporter: Exporter, provenance: Provenance, others: Mapping[str, Exporter] | None
) -> Attempt:
    try:
        return Attempt(exporter, export_policy(policy, exporter.format, provenance, others))
    except UserError as error:
        return Attempt(exporter, refusal=str(error))


def files_of(attempts: Sequence[Attempt], provenance: Provenance) -> dict[str, str]:
    """The files of all formats, each format's in a folder of its name, by path; and a README.md that lists them."""
    readme = "\n".join(_readme(attempts, provenance)) + "\n"
    return {
        "README.md": readme,
        **{f"{made.format}/{name}": text for made in attempts for name, text in made.files.items()},
    }


def _readme(attempts: Sequence[Attempt], provenance: Provenance) -> Iterator[str]:
    origin = f"{provenance.run}, candidate {provenance.candidate}" if provenance.candidate else provenance.run
    yield f"# A policy of the task {provenance.task}"
    yield ""
    yield f"{origin}, in every format that it can be written in."
    yield f"`vulcan eval FILE --task {provenance.task} ...` measures the policy that a file carries."
    yield ""
    yield "| format | files | use |"
    yield "|---|---|---|"
    for made in attempts:
        if not made.refusal:
            files = ", ".join(f"`{made.format}/{name}`" for name in made.files)
            yield f"| {made.format}: {made.exporter.summary} | {files} | `{_cell(made.use)}` |"
    refused = [made for made in attempts if made.refusal]
    if refused:
        yield ""
        yield "Not written:"
        yield ""
        yield from (f"- {made.format}: {made.refusal}" for made in refused)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
