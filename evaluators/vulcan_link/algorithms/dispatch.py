"""Dispatch to the algorithms by number: one branch each, because numba compiles no table of functions."""

from __future__ import annotations

from vulcan.kernel_support import function
from vulcan_link.algorithms import (
    BBR,
    COPA,
    CUBIC,
    FIXED,
    LEDBAT,
    ORACLE,
    RENO,
    VEGAS,
    bbr,
    copa,
    cubic,
    fixed,
    ledbat,
    oracle,
    reno,
    vegas,
)
from vulcan_link.flow_state import ALGORITHM, CWND, PRIOR_CWND


@function
def begin(flow):
    number = int(flow[ALGORITHM])
    if number == RENO:
        reno.begin(flow)
    elif number == CUBIC:
        cubic.begin(flow)
    elif number == BBR:
        bbr.begin(flow)
    elif number == FIXED:
        fixed.begin(flow)
    elif number == VEGAS:
        vegas.begin(flow)
    elif number == COPA:
        copa.begin(flow)
    elif number == LEDBAT:
        ledbat.begin(flow)
    elif number == ORACLE:
        oracle.begin(flow)


@function
def sampled(flow):
    number = int(flow[ALGORITHM])
    if number == CUBIC:
        cubic.sampled(flow)
    elif number == VEGAS:
        vegas.sampled(flow)
    elif number == COPA:
        copa.sampled(flow)
    elif number == LEDBAT:
        ledbat.sampled(flow)


@function
def acknowledged(flow):
    number = int(flow[ALGORITHM])
    if number == RENO:
        reno.acknowledged(flow)
    elif number == CUBIC:
        cubic.acknowledged(flow)
    elif number == BBR:
        bbr.acknowledged(flow)
    elif number == FIXED:
        fixed.acknowledged(flow)
    elif number == VEGAS:
        vegas.acknowledged(flow)
    elif number == COPA:
        copa.acknowledged(flow)
    elif number == LEDBAT:
        ledbat.acknowledged(flow)
    elif number == ORACLE:
        oracle.acknowledged(flow)


@function
def reduced(flow):
    number = int(flow[ALGORITHM])
    if number == CUBIC:
        return cubic.reduced(flow)
    if number == BBR:
        return bbr.reduced(flow)
    if number == FIXED:
        return fixed.reduced(flow)
    if number == COPA:
        return copa.reduced(flow)
    if number == ORACLE:
        return oracle.reduced(flow)
    return reno.reduced(flow)


@function
def changed(flow):
    number = int(flow[ALGORITHM])
    if number == RENO:
        reno.changed(flow)
    elif number == CUBIC:
        cubic.changed(flow)
    elif number == BBR:
        bbr.changed(flow)
    elif number == FIXED:
        fixed.changed(flow)
    elif number == VEGAS:
        vegas.changed(flow)
    elif number == COPA:
        copa.changed(flow)
    elif number == LEDBAT:
        ledbat.changed(flow)
    elif number == ORACLE:
        oracle.changed(flow)


@function
def undone(flow):
    number = int(flow[ALGORITHM])
    if number == BBR:
        return bbr.undone(flow)
    if number == FIXED:
        return fixed.undone(flow)
    if number == COPA:
        return copa.undone(flow)
    if number == ORACLE:
        return oracle.undone(flow)
    return max(flow[CWND], flow[PRIOR_CWND])
