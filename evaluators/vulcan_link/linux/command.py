"""Run congestion control in this machine's Linux kernel over an emulated link."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vulcan.errors import UserError

if TYPE_CHECKING:
    from vulcan.anvil import Policy
    from vulcan_link.linux.figures import KernelRunDocument, LinkFigures

app = typer.Typer(
    help="Run congestion control in this machine's Linux kernel over an emulated link.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
_COLUMNS = {
    "utilisation": "{0.utilisation:.4f}",
    "goodput Mbit/s": "{0.goodput_mbps:.2f}",
    "delay avg ms": "{0.queueing_delay_avg_ms:.2f}",
    "delay p95 ms": "{0.queueing_delay_p95_ms:.1f}",
    "delay max ms": "{0.queueing_delay_max_ms:.1f}",
    "loss %": "{1:.3f}",
    "retransmitted": "{0.retransmitted}",
    "Jain": "{0.jain:.4f}",
}
"""How the table shows figures of a link, and the share of packets lost in %."""


@app.callback()
def group() -> None:
    """Run congestion control in this machine's Linux kernel over an emulated link."""


@app.command("run")
def run(
    algorithm: Annotated[
        str, typer.Argument(help="Name of a congestion control in the kernel, such as cubic, or a policy file.")
    ],
    link: Annotated[str, typer.Option(help="Link trace: a Mahimahi or rate file, or constant:rate=12.")],
    delay_ms: Annotated[float, typer.Option("--delay-ms", help="One-way propagation delay in milliseconds.")] = 20.0,
    buffer: Annotated[int, typer.Option(help="Bottleneck queue length in packets.")] = 40,
    seconds: Annotated[float, typer.Option(help="Duration in seconds.")] = 30.0,
    flows: Annotated[int, typer.Option(help="Number of flows that share the link, without competing ones.")] = 1,
    competing: Annotated[
        list[str] | None,
        typer.Option(help="Competing flows: an algorithm of the kernel and how many, such as cubic or cubic:2."),
    ] = None,
    competing_delay_ms: Annotated[
        float | None, typer.Option("--competing-delay-ms", help="Their one-way delay; default: that of --delay-ms.")
    ] = None,
    jitter_ms: Annotated[
        float, typer.Option("--jitter-ms", help="Acknowledgements come up to this much late, at random, in order.")
    ] = 0.0,
    ack_batch_ms: Annotated[
        float, typer.Option("--ack-batch-ms", help="Acknowledgements arrive together on multiples of this time.")
    ] = 0.0,
    loss: Annotated[float, typer.Option(help="Share of packets that are lost at random before the queue.")] = 0.0,
    application: Annotated[
        str, typer.Option(help="What the flows' application writes: packets and the ms between writes, such as 20/100.")
    ] = "endless",
    transfers: Annotated[
        str, typer.Option(help="Short flows instead: packets of each and the ms between their starts, such as 100/500.")
    ] = "none",
    policer: Annotated[
        str, typer.Option(help="Drop what comes beyond Mbit/s and a bucket of kilobytes, such as 8/64.")
    ] = "none",
    reordering: Annotated[
        str, typer.Option(help="Share of packets that come late, and by how many ms, such as 0.01/10.")
    ] = "none",
    exact_clock: Annotated[
        bool, typer.Option("--exact-clock", help="Act at exact times, not on Mahimahi's clock of milliseconds.")
    ] = False,
    task: Annotated[str, typer.Option("--task", "-t", help="Task of the policy.")] = "congestion_control",
    called: Annotated[str, typer.Option(help="When a policy is called: ack or round, as in its search.")] = "ack",
    slow_start: Annotated[
        str, typer.Option(help="Who runs slow start for a policy: mechanism or policy, as in its search.")
    ] = "mechanism",
    format: Annotated[str | None, typer.Option("--format", help="Trace format; default: detected.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Measure the real Linux TCP over an emulated link, and compare it with the simulator's prediction.

    Two private network namespaces are joined by a link of the given trace, delay and buffer; they vanish with the
    command. A policy is exported to BPF, compiled by clang, loaded into the kernel for the run, and
    unloaded after it. Needs root, /dev/net/tun, and for a policy clang, bpftool and a kernel with BTF.

    \b
    Examples:
      vulcan kernel run cubic --link constant:rate=12 --seconds 10
      vulcan kernel run best.py --link Verizon-LTE-short.down --buffer 100
      vulcan kernel run best.py --link constant:rate=20 --competing cubic --exact-clock --jitter-ms 0.5
    """
    from vulcan.cli.output import print_json, tell
    from vulcan_link.linux.figures import power_in, predict
    from vulcan_link.linux.host import require_algorithm, require_namespaces, require_policies
    from vulcan_link.linux.run import run_in_kernel
    from vulcan_link.scenario import Flow
    from vulcan_link.spec import LinkSpec
    from vulcan_traces.links import load_link

    policy_file = _policy_file(algorithm)
    if policy_file is None:
        require_namespaces()
        require_algorithm(algorithm)
    else:
        require_policies()
    others = _competitors(competing or [])
    for name in others:
        require_algorithm(name)
    other_delay_ms = delay_ms if competing_delay_ms is None else competing_delay_ms
    check_ranges(
        delay_ms=delay_ms, competing_delay_ms=other_delay_ms, buffer=buffer, seconds=seconds,
        flows=flows + len(others), jitter_ms=jitter_ms, ack_batch_ms=ack_batch_ms, loss=loss,
    )  # fmt: skip
    settings = {
        "called": _choice("--called", called, "ack", "round"),
        "slow_start": _choice("--slow-start", slow_start, "mechanism", "policy"),
    }
    trace = load_link(link, format=format)
    spec = LinkSpec(
        link=link, link_format=format, digest=trace.digest, repeated_ns=trace.period, from_ns=0, to_ns=trace.period,
        delay_ms=delay_ms, buffer_packets=buffer, duration_s=seconds, flows=flows, competing=(), queue="droptail",
        loss_seed=1, ecn=False, application=application, policer=policer, reordering=reordering, transfers=transfers,
        loss=loss, ack_batch_ms=ack_batch_ms, competing_delay_ms=None, handshake=False, jitter_ms=jitter_ms, **settings,
    )  # fmt: skip
    alone = spec.scenario(trace, "policy" if policy_file else algorithm)
    beside = tuple(Flow(name, other_delay_ms, **settings) for name in others)
    scenario = replace(alone, flows=(*alone.flows, *beside), clock_ms=0.0 if exact_clock else 1.0)
    policy = _checked(policy_file, task) if policy_file else None
    try:
        with _in_the_kernel(policy, settings) as loaded:
            tell(f"sending for {seconds:g} s")
            named = [replace(flow, algorithm=loaded or algorithm) for flow in scenario.flows[: -len(beside) or None]]
            measured, _ = run_in_kernel(replace(scenario, flows=(*named, *beside)))
        predicted = predict(scenario, policy)
    except KeyboardInterrupt:
        tell("interrupted; nothing is left of the link" + (", and the policy is out of the kernel" if policy else ""))
        raise
    document: KernelRunDocument = {
        "algorithm": policy_file.stem if policy_file else algorithm,
        "link": scenario.link.name,
        "link_digest": scenario.link.digest,
        "delay_ms": delay_ms,
        "buffer_packets": buffer,
        "seconds": seconds,
        "competing": list(others),
        "competing_delay_ms": other_delay_ms,
        "jitter_ms": jitter_ms,
        "ack_batch_ms": ack_batch_ms,
        "random_loss": loss,
        "application": application,
        "transfers": transfers,
        "policer": policer,
        "reordering": reordering,
        "exact_clock": exact_clock,
        "linux": platform.release(),
        "kernel": measured,
        "simulator": predicted,
        "power": {
            name: power_in(figures, len(alone.flows), alone.flows[0].round_trip_ms)
            for name, figures in {"kernel": measured, "simulator": predicted}.items()
            if figures
        },
    }
    if as_json:
        print_json(document)
    else:
        _print(document)


def check_ranges(**given: float) -> None:
    """Raises UserError for an option that is out of range; the flows are transfers and competing ones too."""
    from vulcan.simulator import within
    from vulcan_link.workloads import MAX_FLOWS

    within(
        given, delay_ms=(0, 10_000), competing_delay_ms=(0, 10_000), buffer=(1, 1_000_000), seconds=(1, 3600),
        flows=(1, MAX_FLOWS), jitter_ms=(0, 1000), ack_batch_ms=(0, 1000), loss=(0, 0.99),
    )  # fmt: skip


def _policy_file(algorithm: str) -> Path | None:
    """Return the file that is meant; None where it is the name of an algorithm."""
    path = Path(algorithm)
    return path if path.suffix == ".py" or len(path.parts) > 1 else None


def _competitors(given: list[str]) -> tuple[str, ...]:
    """Return the algorithm of each competing flow. Raises UserError."""
    found: list[str] = []
    for text in given:
        name, colon, count = text.partition(":")
        if not name or (colon and not (count.isdecimal() and 1 <= int(count) <= 64)):
            raise UserError(f"--competing {text!r}: give an algorithm of the kernel and how many, such as cubic:2")
        found += [name] * int(count or 1)
    return tuple(found)


def _checked(path: Path, task: str) -> Policy:
    from vulcan.anvil import Rejected, check
    from vulcan.cli.output import read_policy
    from vulcan.registry import find_task

    declared = find_task(task)
    try:
        return check(read_policy(path, declared.name), declared)
    except Rejected as rejected:
        raise UserError(f"{path}: {rejected.violations[0]} (`vulcan check` says more)") from None


def _choice(option: str, given: str, *choices: str) -> Any:
    if given not in choices:
        raise UserError(f"{option} {given!r} is not one of {', '.join(choices)}")
    return given


@contextmanager
def _in_the_kernel(policy: Policy | None, settings: dict[str, Any]) -> Iterator[str | None]:
    """Yield the name of the policy in the kernel while it is there; None where there is none."""
    if policy is None:
        yield None
        return
    from vulcan.export.formats import find_exporter
    from vulcan.export.provenance import Provenance
    from vulcan_link.linux.struct_ops import in_the_kernel

    origin = Provenance(policy.task.name, run="", candidate="", proposer="", date="", settings=settings)
    with in_the_kernel(find_exporter("bpf").export(policy, origin)) as name:
        yield name


def _print(document: KernelRunDocument) -> None:
    from vulcan.cli.output import print_table, say, tell

    label, others, measured = document["algorithm"], document["competing"], document["kernel"]
    own = len(measured.flows) - len(others)
    flows = f", {own} {'flows' if document['transfers'] == 'none' else 'transfers'}" if own > 1 else ""
    if others:
        flows += f", competing with {', '.join(others)}"
    say(
        f"{label} over {document['link']}: {document['delay_ms']:g} ms one way, {document['buffer_packets']} packets "
        f"of buffer, {document['seconds']:g} s{flows}"
    )
    predicted = document["simulator"]
    results: dict[str, LinkFigures] = {"Linux": measured} | ({"simulator": predicted} if predicted else {})
    names = {"Linux": f"Linux {platform.release().partition('-')[0]}"}
    print_table(
        ("", *_COLUMNS),
        [
            (names.get(name, name), *(form.format(figures, 100 * figures.loss) for form in _COLUMNS.values()))
            for name, figures in results.items()
        ],
    )
    for name, figures in results.items():
        if short := figures.transfers:
            say(
                f"transfers, {name}: {short.completion_ms:.1f} ms on average, p95 {short.completion_p95_ms:.1f} ms, "
                f"{100 * short.completed:.0f} % complete"
            )
    if len(measured.flows) > 1 and document["transfers"] == "none":
        say("goodput of each flow, Mbit/s: " + ", ".join(f"{flow.goodput_mbps:.2f}" for flow in measured.flows))
    if document["transfers"] == "none":
        say("power: " + ", ".join(f"{power:.3f} {name}" for name, power in document["power"].items()))
    if predicted is None:
        tell(f"the simulator has no {label}: no prediction")
    punctuality = measured.punctuality
    if punctuality.late * 100 > punctuality.wakeups:
        tell(
            f"the link was late by over 1 ms at {punctuality.late} of {punctuality.wakeups} events (at worst by "
            f"{punctuality.worst_ms:.1f} ms): this host is busy, and the figures suffer"
        )
