"""Inspect and convert traces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vulcan.cli.output import print_json, print_table, say, tell

if TYPE_CHECKING:
    from vulcan_traces.documents import HeadDocument, RequestRow, StatsDocument

app = typer.Typer(
    help="Inspect and convert traces.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)

Trace = Annotated[
    str, typer.Argument(metavar="TRACE", help="A trace file, or a generator such as zipf:requests=200000,alpha=0.9.")
]
Format = Annotated[str | None, typer.Option("--format", help="Trace format; default: detected.")]
Columns = Annotated[str | None, typer.Option("--columns", help="Columns of a table, as time=1,id=2,size=3,header.")]
SkipBadLines = Annotated[bool, typer.Option("--skip-bad-lines", help="Skip and count malformed lines.")]
PageSize = Annotated[
    str | None, typer.Option("--page-size", metavar="SIZE", help="Split the I/Os of a block trace into pages, as 4KiB.")
]
First = Annotated[int | None, typer.Option("--first", metavar="N", help="Use only the first N requests.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document (docs/json.md has its shape).")]
Output = Annotated[
    Path, typer.Argument(metavar="OUT", help="Output file: *.oracleGeneral or *.csv, optionally with .zst, .gz or .xz.")
]
To = Annotated[str | None, typer.Option("--to", help="oracleGeneral or csv; default: by the name of OUT.")]


@app.command("stats")
def stats(
    trace: Trace,
    first: First = None,
    format: Format = None,
    columns: Columns = None,
    skip_bad_lines: SkipBadLines = False,
    page_size: PageSize = None,
    as_json: AsJson = False,
) -> None:
    """Print statistics of a trace, each with its unit and meaning.

    \b
    Examples:
      vulcan traces stats my.csv
      vulcan traces stats my.csv.zst --columns time=1,id=2,size=3 --first 1000000 --json
      vulcan traces stats zipf:requests=200000,alpha=0.9
    """
    from vulcan_traces.fingerprint import fingerprint
    from vulcan_traces.fingerprint.fingerprint import document, summary
    from vulcan_traces.load import load_trace

    loaded = load_trace(trace, format=format, columns=columns, skip_bad_lines=skip_bad_lines, page_size=page_size)
    found = fingerprint(loaded, first=first)
    if as_json:
        stats: StatsDocument = {
            "trace": loaded.name,
            "digest": loaded.digest,
            "notes": [str(note) for note in loaded.notes],
            **document(found),
        }
        print_json(stats)
    else:
        for line in summary(found):
            say(line)


@app.command("convert")
def convert(
    trace: Trace,
    output: Output,
    to: To = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite OUT.")] = False,
    format: Format = None,
    columns: Columns = None,
    skip_bad_lines: SkipBadLines = False,
    page_size: PageSize = None,
) -> None:
    """Write a trace in another format: times, ids and sizes of all requests.

    Ids that are text are written as the 64-bit numbers that they are hashed to. oracleGeneral has whole seconds.

    \b
    Examples:
      vulcan traces convert my.csv my.oracleGeneral.zst
      vulcan traces convert log.txt my.csv --columns time=1,id=3,size=4 --skip-bad-lines --force
    """
    from vulcan_traces.load import load_trace
    from vulcan_traces.storage.export import write_requests

    loaded = load_trace(trace, format=format, columns=columns, skip_bad_lines=skip_bad_lines, page_size=page_size)
    write_requests(loaded, output, to=to, replace=force)
    tell(f"wrote {loaded.requests:,} requests for {loaded.object_count:,} objects to {output}")


@app.command("pages")
def pages(
    recording: Annotated[Path, typer.Argument(metavar="RECORDING", help="Text of perf script, of DAMON, or a table.")],
    output: Annotated[Path, typer.Argument(metavar="OUT", help="Output file: *.npz.")],
    epoch: Annotated[float, typer.Option("--epoch", metavar="SECONDS", help="Length of an epoch in seconds.")] = 1.0,
    page_size: Annotated[int, typer.Option("--page-size", metavar="BYTES", help="Page size: a power of two.")] = 4096,
    scale: Annotated[
        int, typer.Option("--scale", metavar="N", min=1, help="Accesses that one recorded access stands for.")
    ] = 1,
) -> None:
    """Write the page counts of a recording of memory accesses, as memory_tiering reads them.

    RECORDING is what `perf script -F time,event,addr` prints of `perf mem record`, what `perf script` prints of DAMON's
    tracepoint damon:damon_aggregated, what the kernel's `page-types -p PID -L -N -i` lists of idle pages, again and
    again (each listing is an epoch), or a CSV with the columns epoch, page and perhaps loads and stores.

    \b
    Examples:
      perf mem record -c 1000 -- ./program; perf script -F time,event,addr > accesses.txt
      vulcan traces pages accesses.txt program.npz --epoch 0.5 --scale 1000
      vulcan search --task memory_tiering --trace program.npz
    """
    from vulcan_traces.memory.recordings import read_recording

    if output.suffix != ".npz":
        output = output.with_name(f"{output.name}.npz")
    found = read_recording(recording, epoch_seconds=epoch, page_size=page_size, scale=scale)
    found.write(output)
    loads, stores = (int(found.columns[name].sum()) for name in ("loads", "stores"))
    tell(f"wrote {found.epochs:,} epochs of {found.pages:,} pages, {loads:,} loads and {stores:,} stores, to {output}")


@app.command("fit-server")
def fit_server(
    log: Annotated[Path, typer.Argument(metavar="CSV", help="A table with a step of the server in each line.")],
    output: Annotated[Path, typer.Argument(metavar="OUT", help="Output file, for --server.")],
    memory: Annotated[int, typer.Option("--memory", metavar="TOKENS", min=1, help="Tokens that the KV cache holds.")],
) -> None:
    """Fit the times of a language-model server's steps, for request_scheduling and request_routing.

    CSV has the columns prefill_tokens, decode_tokens (requests that write a token each), context (tokens of their
    contexts, all together) and seconds, and perhaps pairs (n * c + n * n / 2 for n tokens of a prompt after c).

    \b
    Examples:
      vulcan traces fit-server steps.csv server.json --memory 430000
      vulcan search --task request_scheduling --trace log.jsonl --server server.json
    """
    import json

    from vulcan.files import write_output
    from vulcan_traces.prompts.step_log import fit_steps

    fitted = fit_steps(log)
    write_output(output, json.dumps({**fitted.constants, "memory": memory}, indent=1) + "\n")
    low, high = (sorted(abs(fitted.errors))[int(share * (len(fitted.errors) - 1))] for share in (0.5, 0.9))
    tell(f"{len(fitted.errors):,} steps; half are within {low:.1%} of the fit, nine tenths within {high:.1%}")
    for name, value in fitted.constants.items():
        say(f"{name:<11}{value:g}")


@app.command("head")
def head(
    trace: Trace,
    number: Annotated[int, typer.Option("-n", "--number", min=1, help="Number of requests.")] = 10,
    format: Format = None,
    columns: Columns = None,
    skip_bad_lines: SkipBadLines = False,
    page_size: PageSize = None,
    as_json: AsJson = False,
) -> None:
    """Print the first requests of a trace as Vulcan decodes them.

    \b
    Examples:
      vulcan traces head my.csv
      vulcan traces head zipf:requests=1000 -n 5 --json
    """
    from vulcan_traces.load import load_trace

    loaded = load_trace(trace, format=format, columns=columns, skip_bad_lines=skip_bad_lines, page_size=page_size)
    count = min(number, loaded.requests)
    rows: list[RequestRow] = [
        {
            "request": index,
            "time": float(loaded.times[index]),
            "id": int(loaded.keys[loaded.objects[index]]),
            "object": int(loaded.objects[index]),
            "size": int(loaded.sizes[index]),
            "next_request": None if loaded.next_access[index] < 0 else int(loaded.next_access[index]),
        }
        for index in range(count)
    ]
    if as_json:
        document: HeadDocument = {
            "trace": loaded.name,
            "digest": loaded.digest,
            "requests": loaded.requests,
            "notes": [str(note) for note in loaded.notes],
            "head": rows,
        }
        print_json(document)
    else:
        cells = [["-" if value is None else f"{value}" for value in row.values()] for row in rows]
        print_table(list(rows[0]), cells)
