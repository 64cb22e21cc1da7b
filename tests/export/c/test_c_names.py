"""Whatever names a policy gives and however it uses them, its C compiles without a warning, and as C++ too."""

from __future__ import annotations

import shutil

import pytest
from anvil_toy import TOY
from c_programs import COMPILERS, DoubleProgram, IntegerProgram, compile_program, program_of

from vulcan.anvil import check
from vulcan.registry import find_task

SENDER = find_task("congestion_control")

HELPERS = """
def weigh(floor, rint, ceil):
    floor = rint
    for rint in range(3):
        floor += rint
    return floor

def unread(new, operator):
    return 2

def overwritten(delete):
    delete = 3
    return delete

def idle(fabs):
    trunc = fabs
    trunc = trunc
    fabs = fabs
    abs_ = 5
    abs_ = abs_
    return trunc

def shadows(weight):
    signed = weight
    weight = -weight
    return signed + weight * 2
"""
BODY = """
    private = {0}
    typename = weigh(private, 2, 3) + unread(1, private) + overwritten({0}) + idle(private) + shadows(private)
    class_ = round({0}) + math.floor({0}) + math.ceil({0}) + int({0}) + abs({0})
    floor = typename + class_
    for rint in range(4):
        floor += round(floor * 0.3) + math.floor(floor / 7) + rint
    return min(floor, 1000) + math.fabs(class_)
"""
OF_ITEM = f"{HELPERS}\ndef rate(now, item, world, past):{BODY.format('item.whole')}"
OF_SENDER = f"{HELPERS}\ndef cwnd(state, window):{BODY.format('state.cwnd_packets')}"


@pytest.mark.parametrize("compiler", COMPILERS, ids=lambda compiler: compiler[0])
def test_it_compiles_without_a_warning(compiler: tuple[str, ...]) -> None:
    if shutil.which(compiler[0]) is None:
        pytest.skip(f"no {compiler[0]}")
    doubles = [DoubleProgram(0, check(OF_ITEM, TOY)), DoubleProgram(1, check(OF_SENDER, SENDER))]
    compile_program(program_of(doubles), compiler)
    compile_program(program_of([IntegerProgram(0, check(OF_SENDER, SENDER))]), compiler)
