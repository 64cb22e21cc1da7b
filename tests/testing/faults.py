"""Ways to break the promises of a task: changes to the text of the one that `vulcan task new` writes."""

from __future__ import annotations

from dataclasses import dataclass

TASK, EVALUATOR, PROMPT = "task.py", "evaluator.py", "prompt.md.j2"
FIRST, SECOND = "policies/first_come.py", "policies/short_or_old.py"
ALL = ""
"""The whole of a file, whatever it says."""


@dataclass(frozen=True)
class Fault:
    """Put `new` in the place of `old` in a file of the task; the check then says `says`. None of `new`: no file."""

    check: str
    says: str
    file: str
    old: str
    new: str | None
    also: tuple[tuple[str, str, str | None], ...] = ()

    def __str__(self) -> str:
        return f"{self.check}: {self.says}"


_EVALUATE = "        reference = policy.reference()\n"
_RUNS = "        return simulate(self._jobs(instance), priority, arrived, lambda job: reference.forget(job.id))\n"
_OBSERVES = "            reference.observe(job.id, shown(now, job, length))"

_QUEUE = """Global(
                name="queue",
                meaning="all jobs that wait",
                features=(Feature("length", "int", "jobs", 1.0, 1e6, "how many there are, this one included"),),
            )"""
_PREPARE = '        """Nothing may be opened or compiled after this; here, nothing is."""\n'
_SHOWN = '"job.arrival": job.arrival}'


def _rungs(cost: str, split: str = "train", parameters: str = "{**i.parameters, 'jobs': 10}") -> str:
    return (
        _PREPARE + "\n    def rungs(self, instances):\n        from vulcan.evaluator import Rung\n"
        "        def cheap(share):\n"
        f"            return tuple(Instance(f'{{i.name}}-{{share}}', {split!r}, {parameters}) for i in instances)\n"
        f"        return [Rung('first', cheap(1), 0.5, {cost}), Rung('second', cheap(2), 0.5, 0.2)]\n"
    )


def _decisions(body: str) -> str:
    return _PREPARE + f"\n    def decisions(self, policy):\n        {body}\n"


FAULTS = (
    Fault("settings", "'limit' is an option of", TASK, 'Setting("jobs"',
          'Setting("limit", "int", "x", 1),\n        Setting("jobs"'),
    Fault("settings", "jobs is 'many', which is no whole number", TASK, 'an instance", 150', 'an instance", "many"'),
    Fault("settings", "way is 'c' (one of: a, b)", TASK, 'Setting("jobs"',
          'Setting("way", "text", "x", "c", choices=("a", "b")),\n        Setting("jobs"'),
    Fault("seeds", "there is no policy in", FIRST, ALL, None, also=((SECOND, ALL, None),)),
    Fault("seeds", "first_come.py is rejected", FIRST, "return", "while True: return"),
    Fault("seeds", "first_come.py decides nothing", FIRST, "-job.arrival", "4.0"),
    Fault("properties", "the property 'blind to identity'", TASK, 'subject="job.id"', 'subject="job.colour"'),
    Fault("properties", "breaks the required property", TASK, '"an id says nothing about a job", subject="job.id"',
          '"x", subject="job.arrival", required=True'),
    Fault("properties", "two properties are called", TASK, 'subject="job.id"),', 'subject="job.id"),) * 2 + ('),
    Fault("prompts", "the prompt does not name", PROMPT, ALL, "Write a good policy.\n"),
    Fault("prompts", "cannot be used", PROMPT, "Jobs arrive", "{{ colour }} jobs arrive"),
    Fault("instances", "none of the split 'validation'", EVALUATOR, '"validation": (3, 4), ', ""),
    Fault("instances", "are called 'all-the-same'", EVALUATOR, 'f"load-{load}-seed-{seed}"', '"all-the-same"'),
    Fault("instances", "on the way to another process", EVALUATOR, '"seed": seed}', '"seed": seed, "pair": (1, 2)}'),
    Fault("instances", "are no JSON", EVALUATOR, '"seed": seed}', '"seed": seed, "file": open}'),
    Fault("instances", "other instances when it is asked again", EVALUATOR, '"seed": seed}',
          '"seed": seed, "r": random.random()}'),
    Fault("instances", "KeyError", EVALUATOR, 'settings["jobs"]', 'settings["tasks"]'),
    Fault("baselines", "`baselines` names none", EVALUATOR,
          'return {**dict.fromkeys(BASELINES, "baseline"), "preemptive": "oracle"}', "return {}"),
    Fault("baselines", "names bounds alone", EVALUATOR, '**dict.fromkeys(BASELINES, "baseline"), ', ""),
    Fault("baselines", "KeyError", EVALUATOR, 'BASELINES, "baseline")', '(*BASELINES, "magic"), "baseline")'),
    Fault("baselines", "measures no 'mean_s'", EVALUATOR, "return preemptive(jobs) if", 'return {"x": 1.0} if'),
    Fault("baselines", "when it is run again", EVALUATOR, "-job.guess", "-job.guess * random.random()"),
    Fault("baselines", "mean_s is nan", EVALUATOR, "return preemptive(jobs) if", 'return {"mean_s": math.nan} if',
          also=((EVALUATOR, "import random\n", "import math\nimport random\n"),)),
    Fault("metrics", "measures no 'mean_s'", EVALUATOR, _RUNS,
          "        return {'longest_s': priority(0.0, Job(1, 1.0, 1.0, 1.0), 1)}\n"),
    Fault("deterministic", "keep no state", EVALUATOR, _RUNS,
          '        self.calls = getattr(self, "calls", 0) + 1\n'
          '        return {"mean_s": self.calls, "longest_s": 1.0}\n'),
    Fault("inputs", "`evaluate` changes the parameters", EVALUATOR, _EVALUATE,
          _EVALUATE + '        instance.parameters["seen"] = 1\n'),
    Fault("inputs", "`prepare` changes the parameters", EVALUATOR, _PREPARE,
          _PREPARE + '        for instance in instances:\n            instance.parameters["ready"] = True\n'),
    Fault("inputs", "changes the settings", EVALUATOR, "        assert isinstance(loads, list)\n",
          '        assert isinstance(loads, list)\n        settings["seen"] = 1\n'),
    Fault("features", "job.arrival was", TASK, '0.0, MAX_SECONDS, "when it arrived"', '0.0, 5.0, "when it arrived"'),
    Fault("features", "which is no int", TASK, 'Feature("arrival", "float"', 'Feature("arrival", "int"'),
    Fault("features", "KeyError: 'job.arrival'", EVALUATOR, _SHOWN, "}"),
    Fault("features", "no feature was ever shown", EVALUATOR, _RUNS,
          '        return {"mean_s": 1.5, "longest_s": 2.0}\n'),
    Fault("events", "the event 'on_end' is never reported", TASK, '    advice=("How',
          '    events=(event("on_end", (), "A job has ended."),),\n    advice=("How',
          also=((TASK, "Setting, Task\n", "Setting, Task, event\n"),)),
    Fault("events", "queue.length was 5000000.0, which is not from 1 to 1e+06", TASK, '    advice=("How',
          '    events=(event("on_end", (_QUEUE,), "A job has ended."),),\n    advice=("How',
          also=(
              (TASK, "Setting, Task\n", "Setting, Task, event\n"),
              (TASK, "TASK = Task(", f"_QUEUE = {_QUEUE}\n\nTASK = Task("),
              (TASK, _QUEUE, "_QUEUE"),
              (TASK, "_QUEUE = _QUEUE", f"_QUEUE = {_QUEUE}"),
              (EVALUATOR, "        def arrived(",
               "        reference.handle('on_end', {'queue.length': 5e6})\n\n        def arrived("),
          )),
    Fault("statistics", "no event is ever reported", EVALUATOR, _OBSERVES, "            pass"),
    Fault("statistics", "observed before under the same key", EVALUATOR, "key=job.id", "key=None"),
    Fault("decides", "all measure the same", EVALUATOR, _RUNS,
          "        return simulate(self._jobs(instance), lambda n, j, q: 0 * priority(n, j, q))\n"),
    Fault("objective", "turn the objective's sign", TASK, '-m["mean_s"]', 'm["mean_s"]'),
    Fault("objective", "which is no baseline", TASK, '-m["mean_s"])', '-m["mean_s"], ("best",))'),
    Fault("objective", "every policy the same score", TASK, '-m["mean_s"]', "1.0"),
    Fault("objective", "its scores must be finite", TASK, '-m["mean_s"]', 'float("inf")'),
    Fault("objective", "ZeroDivisionError", TASK, '-m["mean_s"]', "1 / 0"),
    Fault("splits", "have the same parameters", EVALUATOR, '"test": (5, 6)', '"test": (1, 2)'),
    Fault("splits", "they are the same workload", EVALUATOR, '"test": (5, 6)', '"test": (1, 2)',
          also=((EVALUATOR, '"seed": seed}', '"seed": seed, "of": name}'),)),
    Fault("rungs", "of a full score", EVALUATOR, _PREPARE, _rungs("0.9")),
    Fault("rungs", "rungs are for train", EVALUATOR, _PREPARE, _rungs("0.1", "test")),
    Fault("rungs", "KeyError", EVALUATOR, _PREPARE, _rungs("0.1", parameters="{}")),
    Fault("decisions", "the same digest", EVALUATOR, _PREPARE, _decisions('return "alike"')),
    Fault("decisions", "two digests of one policy", EVALUATOR, _PREPARE, _decisions("return str(id(policy))")),
    Fault("decisions", "is not a text", EVALUATOR, _PREPARE, _decisions("return 7")),
    Fault("sandbox", "in the sandbox", EVALUATOR, "return workload(p",
          "import os\n        return workload(5 + (os.environ.get('PYTHONHASHSEED') == '0') or p"),
    Fault("sandbox", "ends in the sandbox with failed", EVALUATOR, _EVALUATE,
          _EVALUATE + "        open(__file__).close()\n"),
    Fault("sandbox", "in the sandbox", EVALUATOR, _RUNS,
          "        import os\n"
          + _RUNS.replace("self._jobs(instance)", "self._jobs(instance)[len(os.environ) < 17 :]")),
    Fault("findings", "is no finding", EVALUATOR, _PREPARE,
          _PREPARE + "\n    def workload(self, instance):\n        return ['it is busy']\n"),
    Fault("findings", "a statement needs from 1 to 1000 characters", EVALUATOR, _PREPARE,
          _PREPARE + "\n    def findings(self, policy, instance):\n        from vulcan.findings import Statement\n"
          "        return [Statement('long ' * 300)]\n"),
)  # fmt: skip
