"""Look into traces, find public ones, and convert them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Look into traces, find public ones, and convert them.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)

Trace = Annotated[
    str, typer.Argument(metavar="TRACE", help="A trace file, or a generator such as zipf:requests=200000,alpha=0.9.")
]
Format = Annotated[str | None, typer.Option("--format", help="The format of the trace, where it is not clear.")]
Columns = Annotated[
    str | None, typer.Option("--columns", help="What the columns of a table are, as time=1,id=2,size=3,header.")
]
SkipBadLines = Annotated[bool, typer.Option("--skip-bad-lines", help="Leave malformed lines out, and count them.")]
First = Annotated[int | None, typer.Option("--first", metavar="N", help="Only the first N requests.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document (docs/json.md has its shape).")]
Catalogue = Annotated[
    Path | None, typer.Option("--catalogue", help="A catalogue of your own, in the form of Vulcan's catalogue.toml.")
]
Output = Annotated[
    Path, typer.Argument(metavar="OUT", help="A new file: *.oracleGeneral or *.csv, and then .zst, .gz or .xz.")
]
To = Annotated[str | None, typer.Option("--to", help="oracleGeneral or csv, where the name of OUT does not say it.")]


@app.command("stats")
def stats(
    trace: Trace,
    first: First = None,
    format: Format = None,
    columns: Columns = None,
    skip_bad_lines: SkipBadLines = False,
    as_json: AsJson = False,
) -> None:
    """Print what a trace is like: each statistic with its unit and meaning.

    \b
    Examples:
      vulcan traces stats my.csv
      vulcan traces stats my.csv.zst --columns time=1,id=2,size=3 --first 1000000 --json
      vulcan traces stats zipf:requests=200000,alpha=0.9
    """
    from vulcan_traces.commands.output import print_json, say
    from vulcan_traces.fingerprint import fingerprint
    from vulcan_traces.fingerprint.document import document, summary
    from vulcan_traces.load import load_trace

    loaded = load_trace(trace, format=format, columns=columns, skip_bad_lines=skip_bad_lines)
    found = fingerprint(loaded, first=first)
    if as_json:
        print_json({"trace": loaded.name, "digest": loaded.digest, **document(found)})
    else:
        for line in summary(found):
            say(line)


@app.command("plot")
def plot(
    trace: Trace,
    output: Annotated[Path, typer.Option("-o", "--output", help="The page to write; it needs no network.")],
    first: First = None,
    format: Format = None,
    columns: Columns = None,
    skip_bad_lines: SkipBadLines = False,
) -> None:
    """Draw what a trace is like: miss-ratio curves, distances, sizes and the working set, as one HTML page.

    \b
    Examples:
      vulcan traces plot my.csv -o my.html
    """
    from vulcan_traces.commands.output import tell
    from vulcan_traces.fingerprint import fingerprint
    from vulcan_traces.fingerprint.plot import page
    from vulcan_traces.load import load_trace
    from vulcan_traces.new_file import new_file

    loaded = load_trace(trace, format=format, columns=columns, skip_bad_lines=skip_bad_lines)
    html = page(loaded.name, fingerprint(loaded, first=first))
    with new_file(output, replace=True) as temporary:
        temporary.write_text(html, encoding="utf-8")
    tell(f"wrote {output}")


@app.command("list")
def list_(catalogue: Catalogue = None, as_json: AsJson = False) -> None:
    """List public traces: what they are, where they come from, and their terms.

    \b
    Examples:
      vulcan traces list
      vulcan traces list --catalogue mine.toml --json
    """
    from vulcan_traces.catalogue import CATALOGUE, read_catalogue
    from vulcan_traces.commands.catalogue_pages import catalogue_document, catalogue_lines
    from vulcan_traces.commands.output import print_json, say

    sets = read_catalogue(catalogue or CATALOGUE)
    if as_json:
        print_json(catalogue_document(sets))
    else:
        for line in catalogue_lines(sets):
            say(line)


@app.command("fetch")
def fetch_(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A trace of `vulcan traces list`.")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Where it goes, as DIR/SET/FILE.")] = (
        Path("traces")
    ),
    catalogue: Catalogue = None,
    as_json: AsJson = False,
) -> None:
    """Fetch a public trace: resumed where it broke off, and verified.

    Proxies are taken from the environment (HTTP_PROXY, HTTPS_PROXY, NO_PROXY).

    \b
    Examples:
      vulcan traces fetch cloudphysics-sample/oraclegeneral
      vulcan traces fetch cloudphysics-sample/oraclegeneral -o data --json
    """
    from vulcan_traces.catalogue import CATALOGUE, fetch, find_file, read_catalogue
    from vulcan_traces.commands.output import print_json, progress_line, say, tell

    file = find_file(name, read_catalogue(catalogue or CATALOGUE))
    with progress_line(file.name) as progress:
        fetched = fetch(file, output, progress=progress)
    if as_json:
        print_json(
            {
                "name": file.name,
                "path": str(fetched.path),
                "bytes": fetched.path.stat().st_size,
                "verified": fetched.verified,
                "was_there": fetched.was_there,
                "format": file.format,
                "columns": file.columns,
            }
        )
        return
    checked = "verified" if fetched.verified else "not verified, for its checksum is not known"
    tell(f"{file.name}: {'was there already' if fetched.was_there else 'fetched'}, {checked}")
    reading = f"--columns {file.columns}" if file.columns else f"--format {file.format}"
    tell(f"its format is {file.format}: read it with {reading} where that is not clear")
    say(str(fetched.path))


@app.command("convert")
def convert(
    trace: Trace,
    output: Output,
    to: To = None,
    force: Annotated[bool, typer.Option("--force", help="Replace OUT.")] = False,
    format: Format = None,
    columns: Columns = None,
    skip_bad_lines: SkipBadLines = False,
) -> None:
    """Write a trace in another format: times, ids and sizes of all requests.

    Ids that are text are written as the 64-bit numbers that they are hashed to. oracleGeneral has whole seconds.

    \b
    Examples:
      vulcan traces convert my.csv my.oracleGeneral.zst
      vulcan traces convert log.txt my.csv --columns time=1,id=3,size=4 --skip-bad-lines --force
    """
    from vulcan_traces.commands.output import tell
    from vulcan_traces.load import load_trace
    from vulcan_traces.write import requests_of, write_requests

    loaded = load_trace(trace, format=format, columns=columns, skip_bad_lines=skip_bad_lines)
    write_requests(requests_of(loaded), output, to=to, replace=force)
    tell(f"wrote {loaded.requests:,} requests for {loaded.object_count:,} objects to {output}")


@app.command("sample")
def sample(
    trace: Trace,
    output: Output,
    rate: Annotated[float, typer.Option("--rate", "-r", help="Which part of the objects to keep, such as 0.01.")],
    seed: Annotated[int, typer.Option("--seed", help="Another seed, other objects.")] = 0,
    to: To = None,
    force: Annotated[bool, typer.Option("--force", help="Replace OUT.")] = False,
    format: Format = None,
    columns: Columns = None,
    skip_bad_lines: SkipBadLines = False,
) -> None:
    """Write the requests for some of a trace's objects, chosen by a hash of their ids.

    A cache smaller by the same factor behaves much the same on them. With one seed, the objects of a lower rate are
    all among those of a higher one.

    \b
    Examples:
      vulcan traces sample my.csv small.csv --rate 0.01
    """
    from vulcan_traces.commands.output import tell
    from vulcan_traces.load import load_trace
    from vulcan_traces.write import sampled_requests, write_requests

    loaded = load_trace(trace, format=format, columns=columns, skip_bad_lines=skip_bad_lines)
    kept = sampled_requests(loaded, rate, seed)
    write_requests(kept, output, to=to, replace=force)
    tell(
        f"wrote {len(kept.keys):,} of {loaded.requests:,} requests, for {kept.object_count:,} of "
        f"{loaded.object_count:,} objects, to {output}"
    )


@app.command("head")
def head(
    trace: Trace,
    number: Annotated[int, typer.Option("-n", "--number", min=1, help="How many requests.")] = 10,
    format: Format = None,
    columns: Columns = None,
    skip_bad_lines: SkipBadLines = False,
    as_json: AsJson = False,
) -> None:
    """Print the first requests of a trace, as Vulcan reads them.

    \b
    Examples:
      vulcan traces head my.csv
      vulcan traces head zipf:requests=1000 -n 5 --json
    """
    from vulcan_traces.commands.output import print_json, print_table
    from vulcan_traces.load import load_trace

    loaded = load_trace(trace, format=format, columns=columns, skip_bad_lines=skip_bad_lines)
    count = min(number, loaded.requests)
    rows = [
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
        print_json({"trace": loaded.name, "digest": loaded.digest, "requests": loaded.requests, "head": rows})
    else:
        cells = [["-" if value is None else f"{value}" for value in row.values()] for row in rows]
        print_table(list(rows[0]), cells)
