"""Cache policies in Caffeine's simulator: its `Policy`, `AccessEvent` and `PolicyStats`, and policies of its own.

They are compiled from a checkout of github.com/ben-manes/caffeine, or from the stand-ins below, which are these
interfaces as published. Its settings, which bring readers of thirty formats, and two annotations are stand-ins always.
Needs a JDK, and with a checkout the Java libraries of Debian that `JARS` names.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

JARS = ("guava", "commons-lang3", "error_prone_annotations", "jsr305", "typesafe-config", "fastutil")
_JAVA = Path("/usr/share/java")
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
_ANNOTATIONS = {
    "org/jspecify/annotations/Nullable": "@java.lang.annotation.Target(java.lang.annotation.ElementType.TYPE_USE)\n"
    "public @interface Nullable {}",
    "edu/umd/cs/findbugs/annotations/SuppressFBWarnings": "public @interface SuppressFBWarnings { String[] value(); }",
    f"{_SIMULATOR}/BasicSettings": """\
public class BasicSettings {
    private final com.typesafe.config.Config config;
    public BasicSettings(com.typesafe.config.Config config) { this.config = config; }
    public com.typesafe.config.Config config() { return config; }
    public long maximumSize() { return config.getLong("maximum-size"); }
}""",
}
_STAND_INS = {
    f"{_SIMULATOR}/policy/Policy": """\
public interface Policy {
    void record(AccessEvent event);
    PolicyStats stats();
    enum Characteristic { WEIGHTED }
    @interface PolicySpec { String name() default ""; Characteristic[] characteristics() default {}; }
}""",
    f"{_SIMULATOR}/policy/AccessEvent": """\
public record AccessEvent(long key, int weight) {
    public static AccessEvent forKeyAndWeight(long key, int weight) { return new AccessEvent(key, weight); }
}""",
    f"{_SIMULATOR}/policy/PolicyStats": """\
public class PolicyStats {
    private long hits, misses;
    public PolicyStats(String format, Object... args) {}
    public void recordWeightedHit(int weight) { hits++; }
    public void recordWeightedMiss(int weight) { misses++; }
    public void recordEviction() {}
    public void recordAdmission() {}
    public void recordRejection() {}
    public long requestCount() { return hits + misses; }
    public long missCount() { return misses; }
}""",
}
_MAIN = """\
import com.github.benmanes.caffeine.cache.simulator.policy.*;

public class Main {
    public static void main(String[] given) throws Exception {
        java.util.List<Policy> policies = new java.util.ArrayList<>();
MAKE
        java.util.Scanner requests = new java.util.Scanner(new java.io.File("requests"));
        while (requests.hasNextLong()) {
            AccessEvent event = AccessEvent.forKeyAndWeight(requests.nextLong(), requests.nextInt());
            for (Policy policy : policies) {
                policy.record(event);
            }
        }
        for (Policy policy : policies) {
            System.out.println(policy.stats().missCount());
        }
    }
}
"""


def missing(checkout: Path | None = None) -> str:
    """What of a JDK, and for a checkout of Debian's libraries, is not there; empty if nothing."""
    tools = [tool for tool in ("javac", "java") if shutil.which(tool) is None]
    jars = [f"{_JAVA}/{jar}.jar" for jar in JARS if checkout is not None and not (_JAVA / f"{jar}.jar").exists()]
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
    texts = dict(_ANNOTATIONS) if checkout is not None else dict(_STAND_INS)
    sources = [] if checkout is None else [f"policy/{name}" for name in ("Policy", "AccessEvent", "PolicyStats")]
    sources += [f"policy/{own}" for own in OWN.values()] if checkout is not None else []
    made = [f"policies.add(new p{n}.Policy.CachePolicy({capacity}L));" for n in range(len(exported))]
    if checkout is not None:
        config = _CONFIG.replace("SIZE", str(capacity)).replace("\n", "\\n")
        read = f'com.typesafe.config.ConfigFactory.parseString("{config}")'
        packages = (f"{_SIMULATOR}/policy/{own}".replace("/", ".") for own in OWN.values())
        made += [f"policies.add(new {name}({read}));" for name in packages]
    for name, text in texts.items():
        _write(folder / f"{name}.java", f"package {name.rpartition('/')[0].replace('/', '.')};\n{text}\n")
    for n, text in enumerate(exported.values()):
        _write(folder / f"p{n}/Policy.java", f"package p{n};\n{text}")
    _write(folder / "Main.java", _MAIN.replace("MAKE", "\n".join(made)))
    _write(folder / "requests", "".join(f"{key} {size}\n" for key, size in requests))
    classes = ":".join((".", *(f"{_JAVA}/{jar}.jar" for jar in JARS if checkout is not None)))
    files = [str(checkout / "simulator/src/main/java" / _SIMULATOR / f"{name}.java") for name in sources if checkout]
    _run(
        "javac",
        "-nowarn",
        "-proc:none",
        "-d",
        ".",
        "-cp",
        classes,
        *files,
        *(f"{t}.java" for t in texts),
        "Main.java",
        at=folder,
    )
    counted = map(int, _run("java", "-cp", classes, "Main", at=folder).split())
    names = (*exported, *(OWN if checkout is not None else ()))
    return dict(zip(names, counted, strict=True))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _run(*command: str, at: Path) -> str:
    done = subprocess.run(command, cwd=at, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
    return done.stdout
