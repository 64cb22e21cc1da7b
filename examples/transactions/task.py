"""Transaction schedules (of the ADRS benchmark): in which order transactions begin, decided by a free program."""

from pathlib import Path

from vulcan.task import Feature, Hook, Mechanism, Objective, Program, Record, Scalar, Setting, Task

OPERATION = Record(
    "operation",
    "an operation of a transaction",
    (
        Feature("transaction", "int", "transactions", 0.0, 1e6, "the number of the transaction, from 0"),
        Feature("length", "int", "steps", 1.0, 1e6, "how many steps the transaction takes"),
        Feature("key", "int", "keys", 0.0, 1e6, "what is read or written"),
        Feature("step", "int", "steps", 1.0, 1e6, "in which step of the transaction, from 1"),
        Feature("write", "int", "writes", 0.0, 1.0, "1 if it writes the key, 0 if it reads it"),
    ),
)

TASK = Task(
    name="transactions",
    summary="Order transactions so that the last ends early: those that conflict wait for each other.",
    signature=Program(
        function="Policy",
        arguments=(Scalar(Feature("count", "int", "transactions", 1.0, 1e6, "how many there are")),),
        returns="",
        hooks=(
            Hook("add", (OPERATION,), "Called for each operation of each transaction, before any `next`."),
            Hook(
                "next",
                (Scalar(Feature("place", "int", "transactions", 0.0, 1e6, "the place in the order, from 0")),),
                "Called for each place in the order.",
                returns="int",
                result="the number of the transaction that comes there; each comes once",
            ),
        ),
        mechanisms=(Mechanism("program", "An instance is made for each workload of a hundred transactions."),),
    ),
    evaluator="transactions_evaluator:TransactionsEvaluator",
    objectives=(Objective("points", "points", "the public score, from 0 to 100", lambda m, _: m["points"]),),
    directory=Path(__file__).parent,
    settings=(
        Setting(
            "workloads", "text", "a file of the public benchmark's form, measured beside the others", repeatable=True
        ),
    ),
    advice=("A workload may take seconds: local search in the order is possible.",),
)
