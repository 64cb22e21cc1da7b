"""What a program may be made of: each rule has its case, and the known ways out of RestrictedPython are refused."""

import struct

import pytest
from program_parts import CACHE, LOOP, SEEDS, TOY, Here, program

from vulcan.anvil import Rejected
from vulcan.anvil.diagnostics import explain
from vulcan.python_policy.allowed import NAMES, namespace
from vulcan.python_policy.check import check_policy, check_program, describe_policy
from vulcan.python_policy.restrict import MAX_SOURCE_BYTES, MAX_TREE_DEPTH, MAX_TREE_NODES, RULES
from vulcan.registry import find_task
from vulcan.searches.reply import parse_source
from vulcan.task import Task


def rejected(source: str) -> Rejected:
    with pytest.raises(Rejected) as caught:
        check_program(source, TOY)
    return caught.value


STATEMENTS = {
    "too-long": "# " + MAX_SOURCE_BYTES * "x",
    "too-large": MAX_TREE_NODES // 3 * "x = 1\n",
    "too-deep": "x = " + (MAX_TREE_DEPTH + 5) * "-" + "1",
    "syntax": "x = = 1",
    "import": "import os",
    "name": "open('x')",
    "reserved-name": "__builtins__ = 1",
    "attribute": "x.__class__",
    "statement": "with x:\n    pass",
    "expression": "x = f'{x}'",
    "decorator": "@choose\ndef f():\n    pass",
    "class": "class Node(dict):\n    pass",
    "ascii": "größe = 1",
}
BROKEN = {name: program(f"x = {{}}\n{statement}\nreturn 1") for name, statement in STATEMENTS.items()} | {
    "no-class": "LIMIT = 1\n",
    "no-hook": "class Policy:\n    def __init__(self, room):\n        pass\n",
    "arguments": "class Policy:\n    def __init__(self):\n        pass\n\n    def choose(self, ask):\n        return 1",
}


@pytest.mark.parametrize("name", RULES)
def test_each_rule_rejects_its_case_and_says_where_and_what_to_write(name: str) -> None:
    source = BROKEN[name]
    found = [v for v in rejected(source).violations if v.rule == name]
    assert found
    assert found[0].hint == RULES[name]
    assert 1 <= found[0].line <= source.count("\n") + 1
    assert f"[{name}]" in explain(source, found)


IDIOMS = (
    "total = 0\nfor i, x in enumerate([1, 2]):\n    total += i * x\nreturn total",
    "self.room += 1\nself.room -= ask.id\nreturn self.room",
    "d = {}\nd[ask.id] = 1\nd[ask.id] += 1\ndel d[ask.id]\nreturn len(d)",
    "a, (b, *c) = 1, (2, 3, 4)\nreturn a + b + len(c)",
    "q = collections.deque([1, 2])\nq.append(3)\nreturn q.popleft()",
    "h = []\nheapq.heappush(h, (1, ask.id))\nreturn heapq.heappop(h)[1]",
    "import heapq as hq\nfrom math import floor as down\nreturn down(len(hq.nlargest(1, [ask.id])))",
    "try:\n    return {}[ask.id]\nexcept KeyError:\n    return 0",
    "return sorted([3, 1], key=lambda x: -x)[0]",
    "return sum(x for x in range(ask.id) if x % 2)",
    "def inner(x):\n    return x\nreturn inner(ask.id)",
    "while True:\n    break\nelse:\n    pass\nreturn min((1, 2), default=0)",
    "x: int = 1\ny: 'NoSuchThing'\nreturn x",
    "return [*range(3)][-1] if (n := ask.id) is not None else n",
    "self._kept = 1\nreturn self._kept",
    "n = Node(1)\nn.next = Node(2)\nreturn n.next.value",
    "return random.randrange(3) + Counter([1]).most_common(1)[0][0]",
    "return self.helper(*[1], **{})",
)
NODE = "class Node:\n    __slots__ = ('value', 'next')\n\n    def __init__(self, value):\n        self.value = value\n"


@pytest.mark.parametrize("body", IDIOMS)
def test_what_people_write_is_accepted(body: str) -> None:
    source = program(
        body,
        "import collections\nimport heapq\nfrom typing import Any\n\n" + NODE,
        "def helper(self, x):\n    return x",
    )
    policy = check_program(source, TOY)
    assert policy.hooks == {"choose"}


# Beside those of tests/support/checker_attacks.py, which both languages refuse
ESCAPES = {
    "format through map": "return list(map(str.format, ['{0.__class__}'], [self]))",
    "format_map": "return '{x.__class__}'.format_map({'x': self})",
    "string.Formatter": "import string\nreturn string.Formatter().format('{0.__class__}', self)",
    "format of an attribute's own": "self.format = 1\nreturn '{0.room}'.format(self)",
    "address in a formatted text": "return len('%r' % (lambda: 0,))",
    "address in formatted bytes": "return len(b'%r' % [map])",
    "text of an error": "self.args = 1\ntry:\n    [].index(map)\nexcept ValueError as e:\n    return len(e.args[0])",
    "frame of a generator, its own name": "self.gi_frame = 0\nreturn (x for x in []).gi_frame",
    "code of a generator": "return (x for x in []).gi_code",
    "yield": "yield ask.id",
    "import of a part": "import collections.abc\nreturn 1",
    "import of what a module imports": "from collections import _sys\nreturn 1",
    "module of a module": "import heapq\nreturn heapq.sys",
    "star import": "from math import *\nreturn 1",
    "mro": "return Policy.mro()",
    "traceback by with_traceback": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    return e.with_traceback(None)",
    "exception group": "try:\n    pass\nexcept* ValueError as e:\n    return 1",
    "base class": "class M(list):\n    pass\nreturn 1",
    "class of an exception's own": "class E(Exception):\n    pass\nreturn 1",
    "setattr": "setattr(self, 'room', 1)\nreturn 1",
    "vars": "return vars(self)",
    "exec": "exec('1')\nreturn 1",
    "compile": "return compile('1', '', 'eval')",
    "open": "return open('/etc/passwd').read()",
    "print": "print(1)\nreturn 1",
    "breakpoint": "breakpoint()\nreturn 1",
    "input": "return input()",
    "object": "return object()",
    "super": "return super()",
    "id": "return id(self)",
    "hash": "return hash(self)",
    "guard by assignment": "_write_ = list\nreturn 1",
    "guard as argument": "def f(_write_):\n    return _write_\nreturn f(1)",
    "guard as exception": "try:\n    pass\nexcept KeyError as _write_:\n    pass\nreturn 1",
    "guard by global": "global _write_\nreturn 1",
    "guard by import": "from math import pi as _write_\nreturn 1",
    "metaclass hook": "global __metaclass__\n__metaclass__ = list\nreturn 1",
    "other alphabet": "а = 1\nreturn а",
    "attribute of a string": "return ''.encode",
    "with": "with self:\n    pass\nreturn 1",
    "await": "await self\nreturn 1",
    "private name": "return self.__private",
}


@pytest.mark.parametrize("body", ESCAPES.values(), ids=ESCAPES)
def test_ways_out_are_refused_with_a_place_and_a_hint(body: str) -> None:
    for violation in rejected(program(body)).violations:
        assert violation.rule in RULES
        assert violation.line >= 7 or violation.rule in ("syntax", "too-deep"), violation
        assert violation.hint


@pytest.mark.parametrize(
    "more",
    [
        "def __getattr__(self, name):\n    return 1",
        "def __del__(self):\n    pass",
        "def __hash__(self):\n    return 1",
        "__hash__ = 1",
        "def __init_subclass__(cls):\n    pass",
        "def __call__(self):\n    pass",
        "def __reduce__(self):\n    pass",
        "def __class_getitem__(cls, x):\n    pass",
        "def __format__(self, x):\n    pass",
    ],
)
def test_methods_that_python_itself_calls_are_refused_but_comparisons(more: str) -> None:
    assert {v.rule for v in rejected(program(more=more)).violations} == {"reserved-name"}


def test_comparisons_may_be_defined() -> None:
    check_program(program(more="def __lt__(self, other):\n    return self.room < other.room"), TOY)


def test_hooks_may_come_from_a_class_that_is_extended_and_have_defaults() -> None:
    source = (
        "class Base:\n    def __init__(self, room, more=1):\n        pass\n    def seen(self, x):\n        pass\n\n"
    )
    source += "class Policy(Base):\n    def choose(self, ask, other=None):\n        return 1\n"
    assert check_program(source, TOY).hooks == {"choose", "seen"}


@pytest.mark.parametrize("value", ["map", "(map,)", "[]", "{}", "'x'"])
def test_a_text_that_the_checker_does_not_see_is_not_formatted(value: str) -> None:
    for body in (f"text = '%r'\nreturn len(text % {value})", f"text = b'%r'\ntext %= {value}\nreturn len(text)"):
        running = check_program(program(body), TOY).hosted_by(Here).start(LOOP, 1)
        with pytest.raises(TypeError, match="% takes numbers"):
            running.tell(bytes([1]))


@pytest.mark.parametrize("body", ["return 17 % ask.id", "n = 17\nn %= ask.id\nreturn n", "return ask.id % True + 3"])
def test_remainders_of_numbers_are_what_they_are(body: str) -> None:
    running = check_program(program(body), TOY).hosted_by(Here).start(LOOP, 1)
    assert struct.unpack("<q", running.tell(bytes([7]))) == (3,)


@pytest.mark.parametrize("task", [CACHE, find_task("cache_eviction")], ids=["program", "anvil"])
@pytest.mark.parametrize("first", ["", "\n", "# a remark\r", "\x0c\r\n"])
@pytest.mark.parametrize("encoding", ["utf-7", "latin-1", "no-such-encoding"])
def test_a_source_in_another_encoding_than_utf_8_is_rejected(task: Task, first: str, encoding: str) -> None:
    source = next(iter(task.seed_policies().values()))
    check_policy(f"{first}# -*- coding: utf-8 -*-\n{source}", task)
    with pytest.raises(Rejected, match="another encoding"):
        check_policy(f"{first}# vim: set fileencoding={encoding} :\n{source}", task)


def test_names_are_ascii_before_python_makes_them_so() -> None:
    assert "[ascii] the name 'rｏom'" in str(rejected(program("return self.rｏom")))


def test_every_name_that_the_checker_lets_through_is_there_and_no_other() -> None:
    assert set(namespace()) == NAMES
    dangerous = {
        "getattr", "setattr", "open", "eval", "exec", "type", "vars", "__import__", "object", "id", "str", "repr",
    }  # fmt: skip
    assert not NAMES & dangerous


def test_programs_that_differ_in_layout_and_annotations_alone_are_the_same() -> None:
    one = check_program(program("queue = [1]\nreturn queue[0]"), TOY)
    assert check_program(program("# another\nqueue: list = [1]\nreturn queue[ 0 ]"), TOY).fingerprint == one.fingerprint
    assert check_program(program("queue = [2]\nreturn queue[0]"), TOY).fingerprint != one.fingerprint


def test_constants_at_the_top_are_parameters_and_whole_ones_stay_whole() -> None:
    top = "SHARE = 0.5  # of all\nCOUNT: int = 4\nNEGATIVE = -3\nTWICE = 1\nTWICE = 2\nTEXT = 'x'\nON = True\n"
    policy = check_program(program(top=top), TOY)
    assert policy.parameters == {"SHARE": 0.5, "COUNT": 4.0, "NEGATIVE": -3.0}
    changed = policy.source_with({"SHARE": 0.25, "COUNT": 7.6, "NEGATIVE": -12.4})
    assert changed == policy.source.replace("0.5  # of all", "0.25  # of all").replace("= 4", "= 8").replace(
        "-3", "-12"
    )
    assert check_program(changed, TOY).parameters == {"SHARE": 0.25, "COUNT": 8.0, "NEGATIVE": -12.0}
    assert "COUNT: int = 1\n" in policy.source_with({"COUNT": 0.01})
    with pytest.raises(KeyError):
        policy.source_with({"OTHER": 1.0})
    with pytest.raises(ValueError, match="SHARE"):
        policy.source_with({"SHARE": float("inf")})


def test_a_program_is_not_run_without_a_place_in_the_sandbox() -> None:
    with pytest.raises(ValueError, match="sandbox"):
        check_program(SEEDS["lru"], CACHE).start(100)


def test_a_model_is_told_what_to_mend() -> None:
    reading = parse_source(program("import os\nreturn self.__class__"), TOY)
    assert reading.policy is None
    assert reading.rules == ("import", "attribute")
    assert "line 8, column 9: [import]" in reading.feedback
    assert "hint: " in reading.feedback


def test_the_prompt_names_every_hook_field_function_and_rule() -> None:
    text = describe_policy(CACHE)
    assert "def evict(self, request):" in text
    for word in ("request.size", "OrderedDict", "heappush", "capacity", *RULES):
        assert word in text
    assert all(check_policy(source, CACHE).hooks >= {"evict"} for source in SEEDS.values())
