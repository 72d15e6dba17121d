"""The SYNCS form of each PTX operation on an mbarrier."""

from __future__ import annotations

import pytest

from simulator.errors import UnsupportedError
from simulator.sass.lift.syncs import Syncs, parse_syncs
from tests.sass_kernels import needs_compiler

REGISTER = Syncs("arrive", "one", "register")
FORMS: dict[str, tuple[str, str, Syncs]] = {
    'init.shared::cta.b64 [%1], %2': ("", "SYNCS.EXCH.64", Syncs("init")),
    'inval.shared::cta.b64 [%1]': ("", "SYNCS.CCTL.IV", Syncs("invalidate")),
    'arrive.shared::cta.b64 %0, [%1]': (
        "", "SYNCS.ARRIVE.TRANS64.A1T0", Syncs("arrive", "one")),
    'arrive.shared::cta.b64 %0, [%1], %2': (
        "", "SYNCS.ARRIVE.TRANS64.ART0", Syncs("arrive", "register")),
    'arrive.release.cluster.shared::cluster.b64 _, [%1]': (
        "", "SYNCS.ARRIVE.TRANS64.RED.A1T0", Syncs("arrive", "one", remote=True)),
    'arrive.release.cluster.shared::cluster.b64 _, [%1], %2': (
        "", "SYNCS.ARRIVE.TRANS64.RED.ART0", Syncs("arrive", "register", remote=True)),
    'arrive.expect_tx.shared::cta.b64 %0, [%1], %2': ("", "SYNCS.ARRIVE.TRANS64", REGISTER),
    'arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%1], %2': (
        "", "SYNCS.ARRIVE.TRANS64.RED", Syncs("arrive", "one", "register", remote=True)),
    'arrive.noComplete.shared::cta.b64 %0, [%1], %2': (
        "", "SYNCS.ARRIVE.TRANS64.TMASK.ART0", Syncs("arrive", "register", completes=False)),
    'arrive_drop.shared::cta.b64 %0, [%1]': (
        "", "SYNCS.ARRIVE.TRANS64.OPTOUT.A1T0", Syncs("arrive", "one", drops=True)),
    'arrive_drop.shared::cta.b64 %0, [%1], %2': (
        "", "SYNCS.ARRIVE.TRANS64.OPTOUT.ART0", Syncs("arrive", "register", drops=True)),
    'arrive_drop.expect_tx.shared::cta.b64 %0, [%1], %2': (
        "", "SYNCS.ARRIVE.TRANS64.OPTOUT", Syncs("arrive", "one", "register", drops=True)),
    'arrive_drop.noComplete.shared::cta.b64 %0, [%1], %2': (
        "", "SYNCS.ARRIVE.TRANS64.TMASK.OPTOUT.ART0",
        Syncs("arrive", "register", drops=True, completes=False)),
    'arrive_drop.release.cluster.shared::cluster.b64 _, [%1]': (
        "", "SYNCS.ARRIVE.TRANS64.RED.OPTOUT.A1T0",
        Syncs("arrive", "one", drops=True, remote=True)),
    'expect_tx.relaxed.cta.shared::cta.b64 [%1], %2': (
        "", "SYNCS.ARRIVE.TRANS64.RED.A0TR", Syncs("arrive", "none", "register", remote=True)),
    'complete_tx.relaxed.cta.shared::cta.b64 [%1], %2': (
        "", "SYNCS.ARRIVE.TRANS64.RED.A0TX",
        Syncs("arrive", "none", "minus register", remote=True)),
    'test_wait.shared::cta.b64 p, [%1], %3': (
        "p", "SYNCS.PHASECHK.TRANS64", Syncs("wait")),
    'test_wait.parity.shared::cta.b64 p, [%1], %2': (
        "p", "SYNCS.PHASECHK.TRANS64", Syncs("wait")),
    'try_wait.parity.shared::cta.b64 p, [%1], %2': (
        "p", "SYNCS.PHASECHK.TRANS64.TRYWAIT", Syncs("wait", blocks=True)),
    'cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%1]': (
        "", "ARRIVES.LDGSTSBAR.64.ARVCNT", Syncs("after copies", "one")),
    'cp.async.mbarrier.arrive.shared::cta.b64 [%1]': (
        "", "SYNCS.ARRIVE.TRANS64.RED.A0T1 ARRIVES.LDGSTSBAR.64.TRANSCNT",
        Syncs("after copies", "none", "one")),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_a_form_means_what_its_ptx_says(form: str) -> None:
    _, opcodes, meaning = FORMS[form]
    assert parse_syncs(opcodes.split()[-1]) == meaning


def test_the_byte_that_stands_for_copies_is_put_before_them() -> None:
    assert parse_syncs("SYNCS.ARRIVE.TRANS64.RED.A0T1") == Syncs(
        "arrive", "none", "one", remote=True
    )


@needs_compiler
def test_each_ptx_operation_compiles_to_the_form_of_the_table() -> None:
    from simulator.sass.code.compiling import compile_source
    from simulator.sass.code.nvdisasm import disassemble

    calls, wanted = "", []
    for form, (predicate, opcodes, _) in FORMS.items():
        text = form if form.startswith("cp.async") else f"mbarrier.{form}"
        if predicate:
            text = f"{{ .reg .pred p; {text}; selp.u64 %0, 1, 0, p; }}"
        else:
            text += ";"
        calls += (
            f'    state = 0; asm volatile("{text}" : "+l"(state) : "r"(a), "r"(n), "l"(w)'
            ' : "memory"); *o++ = state;\n'
        )
        wanted += opcodes.split()
    source = (
        'extern "C" __global__ void k(unsigned a, unsigned n, unsigned long long w,'
        " unsigned long long *o) {\n    unsigned long long state;\n" + calls + "}"
    )
    code = disassemble(compile_source(source, "sm_90a", "mbarrier.cu").cubin, "k")
    assert [each.opcode for each in code if each.opcode.startswith(("SYNCS", "ARRIVES"))] == wanted


@pytest.mark.parametrize(
    "opcode",
    ["SYNCS", "SYNCS.ARRIVE.TRANS64.A2T0", "SYNCS.ARRIVE.TRANS64.A1T0.A1T0", "SYNCS.ARRIVE",
     "SYNCS.PHASECHK.TRANS64.FOO", "ARRIVES.LDGSTSBAR.64", "SYNCS.ARRIVE.TRANS64.RED.RED"],
)  # fmt: skip
def test_an_unknown_form_is_refused(opcode: str) -> None:
    with pytest.raises(UnsupportedError, match="not modelled"):
        parse_syncs(opcode)
