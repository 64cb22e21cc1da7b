"""A program in BPF is put into the kernel, carries traffic, and is taken out again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from kernel_host import agreeing, left_in_the_kernel, with_policies
from test_kernel_run import constant

from vulcan.errors import UserError
from vulcan_link.linux.figures import Measurement
from vulcan_link.linux.host import available_algorithms
from vulcan_link.linux.run import run_in_kernel
from vulcan_link.linux.struct_ops import compile_program, in_the_kernel, unregister, unregister_abandoned
from vulcan_link.scenario import Flow, Queue, Scenario

pytestmark = with_policies

# The window stays at WINDOW
PROGRAM = """
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
char _license[] SEC("license") = "GPL";
SEC("struct_ops/fixed_init") void BPF_PROG(fixed_init, struct sock *sk) { }
SEC("struct_ops/fixed_ssthresh") __u32 BPF_PROG(fixed_ssthresh, struct sock *sk) { return WINDOW; }
SEC("struct_ops/fixed_cong_avoid") void BPF_PROG(fixed_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
    ((struct tcp_sock *)sk)->snd_cwnd = WINDOW;
}
SEC("struct_ops/fixed_undo") __u32 BPF_PROG(fixed_undo, struct sock *sk) { return WINDOW; }
SEC(".struct_ops") struct tcp_congestion_ops fixed = {
    .init = (void *)fixed_init, .ssthresh = (void *)fixed_ssthresh, .cong_avoid = (void *)fixed_cong_avoid,
    .undo_cwnd = (void *)fixed_undo, .name = "some_name",
};
"""


def program(window: int) -> dict[str, str]:
    return {"fixed.bpf.c": PROGRAM.replace("WINDOW", str(window))}


def twenty_packets_each_round_trip(run: Measurement) -> None:
    """Of 1,504 bytes in each 42 to 46 ms."""
    assert 0.4 < run.utilisation < 0.5
    assert run.dropped == 0
    assert run.queueing_delay_avg_ms < 6


def test_a_fixed_window_gives_a_window_a_round_trip_and_is_gone_afterwards() -> None:
    with in_the_kernel(program(20)) as name:
        assert name == f"vulcan_{os.getpid()}"
        assert name in available_algorithms()
        scenario = Scenario(constant(12), Queue(packets=40), (Flow(name, 21.0),), 3.0, clock_ms=1.0)
        agreeing(
            lambda: run_in_kernel(scenario)[0], twenty_packets_each_round_trip, lambda found: found.punctuality.worst_ms
        )
    assert not left_in_the_kernel()


def test_it_is_taken_out_where_the_run_fails() -> None:
    with pytest.raises(UserError, match="for a test"), in_the_kernel(program(10)):
        raise UserError("for a test")
    assert not left_in_the_kernel()


def test_what_a_killed_run_left_is_taken_out_by_the_next(tmp_path: Path) -> None:
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    abandoned = f"vulcan_{child}"  # of a process that is no more
    target = compile_program(program(10), abandoned, tmp_path)
    assert os.spawnlp(os.P_WAIT, "bpftool", "bpftool", "struct_ops", "register", str(target)) == 0
    try:
        assert abandoned in available_algorithms()
        unregister_abandoned()
        assert abandoned not in available_algorithms()
    finally:
        unregister(abandoned)


def test_what_does_not_compile_is_one_line(tmp_path: Path) -> None:
    with (
        pytest.raises(UserError, match=r"does not compile: .*error: ") as raised,
        in_the_kernel(program(10) | {"fixed.bpf.c": 'int x = ;const char *a[] = {.name = "a"};'}),
    ):
        pass
    assert "\n" not in str(raised.value)


def test_what_the_verifier_refuses_is_one_line() -> None:
    wild = program(10)["fixed.bpf.c"].replace("->snd_cwnd = 10", "->srtt_us = 10")
    with (
        pytest.raises(UserError, match="the kernel refuses the policy: ") as raised,
        in_the_kernel({"fixed.bpf.c": wild}),
    ):
        pass
    assert "no write support to tcp_sock" in str(raised.value)
    assert "\n" not in str(raised.value)
    assert not left_in_the_kernel()
