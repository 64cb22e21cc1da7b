"""The command `vulcan doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from vulcan.cli.options import RUNS, AsJson, RunsDirectory
from vulcan.cli.output import print_json, print_table, say, tell
from vulcan.terminal_text import count

if TYPE_CHECKING:
    from vulcan.documents.host import AttacksDocument, HostDocument

Attack = Annotated[bool, typer.Option("--attack", help="Also run the attack suite against the sandbox.")]


def doctor(runs_dir: RunsDirectory = RUNS, attack: Attack = False, as_json: AsJson = False) -> None:
    """Check this host: sandbox defences (by trying each), Ray, model keys, disks and versions.

    Exit code 1 if something that every search needs is missing, or an attack succeeds.

    \b
    Example:
      vulcan doctor --attack
    """
    from vulcan.doctor.host import host_document

    document = host_document(runs_dir)
    if not as_json:
        _print_host(document)
    attacks = _attacks(quiet=as_json) if attack else None
    if as_json:
        print_json(document if attacks is None else {**document, **attacks})
    elif attacks is not None:
        _print_attacks(attacks)
    if not document["ok"] or (attacks is not None and attacks["succeeded"]):
        raise typer.Exit(1)


def _attacks(quiet: bool) -> AttacksDocument:
    from vulcan.doctor.host import attack_results, attacks_document

    if not quiet:
        tell("attacking a forked child ...")
    return attacks_document(list(attack_results()))


def _print_host(document: HostDocument) -> None:
    say("What keeps a policy in, each tried by an attack that it alone has to stop:")
    print_table(
        ("defence", "holds", "needed for", "tried by", "seen"),
        [(d.defence, "yes" if d.holds else "NO", d.needed_for, d.test, d.observed[:60]) for d in document["defences"]],
    )
    ray = document["ray"]
    up = f"up, with {count(round(ray.cpus or 0), 'processor')}" if ray.available else f"not up: {ray.error}"
    say(f"Ray: {up}" + (f", joined at {ray.address}" if ray.address else ""))
    model = document["model"]
    server = f", at {model.server}" if model.server else ""
    say(f"model of a search: {model.name}{server} (VULCAN_MODEL and VULCAN_API_BASE, or --model, choose another)")
    keys = [key.variable for key in document["model_keys"] if key.set]
    say(f"model keys: {', '.join(keys) if keys else 'none set, and the offline generator needs none'}")
    for directory in document["disk"]:
        say(f"{directory.name}: {directory.path}, {directory.free_bytes / 2**30:.1f} GiB free")
    say("versions: " + ", ".join(f"{name} {value or 'not there'}" for name, value in document["versions"].items()))
    for problem in document["problems"]:
        stops = "" if problem.blocks == "nothing" else f" (stops {problem.blocks})"
        say(f"problem: {problem.problem}{stops}; {problem.advice}")
    say("policies in Anvil (most tasks): " + ("can be searched for here" if document["ok"] else "CANNOT run here"))
    free = "can be held here" if document["free_programs"] else "are refused here, but for --allow-unsandboxed"
    say(f"policies in free Python (tasks of the PROGRAM kind): {free}")


def _print_attacks(document: AttacksDocument) -> None:
    print_table(
        ("attack", "stopped by", "seen"),
        [(a.attack, a.stopped_by or "NOTHING", " ".join(a.observed.split())[:60]) for a in document["attacks"]],
    )
    say(f"{document['stopped']} attacks stopped, {document['succeeded']} got through")
