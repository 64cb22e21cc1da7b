"""What an accepted program is warned of, each with an example and what to write instead; read as `grammar.WARNINGS`."""

from __future__ import annotations

from dataclasses import dataclass

from vulcan.anvil.grammar.examples import Example, body, top


@dataclass(frozen=True, slots=True)
class LintRule:
    """A doubt about an accepted program: one that is warned of it, one that is not, and what to write instead."""

    name: str
    meaning: str
    example: Example
    instead: Example
    hint: str


WARNINGS: dict[str, LintRule] = {
    warning.name: warning
    for warning in (
        LintRule(
            "zero-divisor",
            "a divisor may be 0 for some values within the declared ranges; the quotient or remainder is 0 there",
            Example("obj.size / (now - obj.last_seen)"),
            Example("obj.size / max(1, now - obj.last_seen)"),
            "if 0 is not what is meant there, keep the divisor away from 0, as in `a / max(1, b)`, or test it first",
        ),
        LintRule(
            "outside-domain",
            "a logarithm, square root or power may be asked for what it has no value for; the result is 0 there",
            Example("math.log(now - obj.last_seen)"),
            Example("math.log(1 + max(0, now - obj.last_seen))"),
            "if 0 is not what is meant there, keep the operand inside: `math.log(1 + a)`, `math.sqrt(max(0, a))`",
        ),
        LintRule(
            "constant-condition",
            "a condition has the same outcome for every value within the declared ranges",
            Example("2 if obj.size > 0 else 1"),
            Example("2 if obj.size > 8 else 1"),
            "compare with a number inside the range, or leave the condition out",
        ),
        LintRule(
            "unreachable",
            "a statement that no input reaches",
            body("if now < 9:\n    return 1\nelse:\n    return 2\nreturn 3"),
            body("if now < 9:\n    return 1\nreturn 2"),
            "leave it out, or mend the condition before it",
        ),
        LintRule(
            "no-influence",
            "a feature or statistic is read, but the result is the same whatever it is",
            body("x = obj.size\nx = obj.count\nreturn x"),
            body("x = obj.size\nx += obj.count\nreturn x"),
            "use it in the result, or do not read it",
        ),
        LintRule(
            "unused-name",
            "a local name, an argument of a helper, a helper or a parameter that is never used",
            top("WEIGHT = 2"),
            body("weight = 2\nreturn weight * obj.size"),
            "use it, or leave it out; a parameter without effect is tuned in vain",
        ),
        LintRule(
            "constant-result",
            "the result is the same for every input",
            Example("min(0, obj.size)"),
            Example("min(8, obj.size)"),
            "let the result depend on what the function is shown",
        ),
    )
}
