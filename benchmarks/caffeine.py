"""Cache policies in Caffeine's simulator: its `Policy`, `AccessEvent` and `PolicyStats`, and policies of its own.

They are compiled from a checkout of github.com/ben-manes/caffeine, or from the stand-ins of `JAVA`, which are these
interfaces as published. Its settings, which bring readers of thirty formats, and two annotations are stand-ins always.
Needs a JDK, and with a checkout the Java libraries of Debian that `JARS` names.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

JARS = ("guava", "commons-lang3", "error_prone_annotations", "jsr305", "typesafe-config", "fastutil")
_JARS_AT = Path("/usr/share/java")
_SIMULATOR = "com/github/benmanes/caffeine/cache/simulator"
OWN = {
    "its ARC": "adaptive/ArcPolicy",
    "its LIRS": "irr/LirsPolicy",
    "its S3-FIFO": "two_queue/S3FifoPolicy",
    "its SIEVE": "linked/SievePolicy",
}
_CONFIG = """\
maximum-size = SIZE
s3fifo { percent-small = 0.10, percent-ghost = 0.90, move-to-main-threshold = 1, maximum-frequency = 3 }
lirs { percent-hot = 0.99, non-resident-multiplier = 2.0 }
"""
JAVA = Path(__file__).resolve().parents[1] / "tests" / "export" / "languages" / "caffeine"


def missing(checkout: Path | None = None) -> str:
    """What of a JDK, and for a checkout of Debian's libraries, is not there; empty if nothing."""
    tools = [tool for tool in ("javac", "java") if shutil.which(tool) is None]
    jars = [f"{_JARS_AT}/{jar}.jar" for jar in JARS if checkout is not None and not (_JARS_AT / f"{jar}.jar").exists()]
    return ", ".join((*tools, *jars))


def misses(
    exported: Mapping[str, str],
    requests: Iterable[tuple[int, int]],
    capacity: int,
    folder: Path,
    checkout: Path | None = None,
) -> dict[str, int]:
    """Return how many requests, given as keys and sizes, each policy misses.

    `exported` are texts of the format `caffeine` by name. With a checkout its own policies take part.
    """
    jars = [f"{_JARS_AT}/{jar}.jar" for jar in JARS if checkout is not None]
    own = [f"policy/{name}" for name in OWN.values() if checkout is not None]
    sources = [*(JAVA / ("interfaces" if checkout is None else "settings")).rglob("*.java")]
    if checkout is not None:
        names = ("policy/Policy", "policy/AccessEvent", "policy/PolicyStats", *own)
        sources += [checkout / "simulator/src/main/java" / _SIMULATOR / f"{name}.java" for name in names]
    config = _CONFIG.replace("SIZE", str(capacity)).replace("\n", "\\n")
    read = f'com.typesafe.config.ConfigFactory.parseString("{config}")'
    made = [f"policies.add(new p{n}.Policy.CachePolicy({capacity}L));" for n in range(len(exported))]
    made += [f"policies.add(new {_SIMULATOR}/{name}".replace("/", ".") + f"({read}));" for name in own]
    for n, text in enumerate(exported.values()):
        _write(folder / f"p{n}/Policy.java", f"package p{n};\n{text}")
    main = (JAVA / "Main.java").read_text(encoding="utf-8")
    _write(folder / "Main.java", main.replace("// POLICIES", "\n".join(made)))
    _write(folder / "requests", "".join(f"{key} {size}\n" for key, size in requests))
    classes = ":".join((".", *jars))
    options = ("-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-nowarn", "-proc:none", "-d", ".", "-cp", classes)
    _run("javac", *options, *map(str, sources), "Main.java", at=folder)
    counted = map(int, _run("java", "-cp", classes, "Main", at=folder).split())
    return dict(zip((*exported, *OWN)[: len(made)], counted, strict=True))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _run(*command: str, at: Path) -> str:
    done = subprocess.run(command, cwd=at, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
    return done.stdout
