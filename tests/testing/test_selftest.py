"""The self-test passes here, and a crash of the child is a failed check."""

import json
import os
from pathlib import Path

import jax
import numpy as np
import pytest

from jaxrepro.testing import _probe, _selftest, selftest

REFERENCE = json.loads(
    (Path(__file__).parents[1] / "reference" / "engineering.json").read_text()
)["jaxlib_0_10_2_miscompile"]


def test_selftest_passes():
    report = selftest()
    failed = [check for check in report.checks if not check.passed]
    assert report.passed, failed
    assert not failed
    assert [check.name for check in report.checks] == list(_probe.CHECKS)
    assert str(REFERENCE["n"]) in report.checks[0].detail
    assert f"last value {REFERENCE['right_last']:.0f}" in report.checks[0].detail


def test_a_wrong_name_is_refused():
    with pytest.raises(ValueError, match="only: expected one of .*; got 'expo'"):
        selftest(only=["expo"])


def child(monkeypatch, body):
    """Let the child run this in place of the checks."""
    monkeypatch.setattr(_selftest, "_PROBE", f"import os, sys, json, time\n{body}")


LINE = "json.dumps({'name': name, 'passed': True, 'detail': 'fine'})"


def test_a_crash_is_a_failed_check_and_the_rest_runs(monkeypatch):
    child(
        monkeypatch,
        "for name in sys.argv[1:]:\n"
        "    if name == 'log': os.abort()\n"
        f"    print({LINE}, flush=True)",
    )
    report = selftest(only=["exp", "log", "sin", "cos"])
    assert not report.passed
    assert [c.name for c in report.checks] == ["exp", "log", "sin", "cos"]
    assert [c.passed for c in report.checks] == [True, False, True, True]
    assert report.checks[1].detail == "the process crashed (SIGABRT)"


def test_a_child_that_does_not_start_fails_every_check(monkeypatch):
    child(monkeypatch, "raise ImportError('no jaxlib')")
    report = selftest(only=["exp", "log"])
    assert [c.passed for c in report.checks] == [False, False]
    assert report.checks[0].detail.endswith("code 1: ImportError: no jaxlib")


def test_a_child_that_hangs_is_ended(monkeypatch):
    child(
        monkeypatch,
        "for name in sys.argv[1:]:\n"
        "    if name == 'log': time.sleep(60)\n"
        f"    print({LINE}, flush=True)",
    )
    report = selftest(only=["exp", "log"], timeout=2.0)
    assert [c.passed for c in report.checks] == [True, False]
    assert report.checks[1].detail == "the process was ended after 2 s"


def test_the_child_runs_on_the_cpu_in_the_callers_environment(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_experimental_ynn_fusion_type=")
    monkeypatch.setenv("JAX_PLATFORMS", "tpu")
    child(
        monkeypatch,
        "detail = os.environ['JAX_PLATFORMS'] + os.environ['XLA_FLAGS']\n"
        "print(json.dumps({'name': 'exp', 'passed': True, 'detail': detail}))",
    )
    detail = selftest(only=["exp"]).checks[0].detail
    assert detail == "cpu--xla_cpu_experimental_ynn_fusion_type="
    assert os.environ["JAX_PLATFORMS"] == "tpu"


# The probe itself: it must be able to fail.


def test_the_probe_finds_wrong_rows(monkeypatch):
    jit = jax.jit

    def faulty(fn):
        return lambda *args: np.asarray(jit(fn)(*args)) * (1 - 1e-12)

    monkeypatch.setattr(jax, "jit", faulty)
    with jax.enable_x64(True):
        passed, detail = _probe.large_batch()
    assert not passed
    assert detail.startswith("16384 of 16385 rows wrong")


def test_the_probe_finds_wrong_elementary_functions(monkeypatch):
    jit = jax.jit
    monkeypatch.setattr(
        jax, "jit", lambda fn: lambda xs: [x * (1 + 1e-5) for x in jit(fn)(xs)]
    )
    with jax.enable_x64(True):
        passed, detail = _probe.elementwise("exp")
    assert not passed
    assert "limit 16" in detail


def test_an_exception_in_a_check_is_a_failure(monkeypatch, capsys):
    monkeypatch.setitem(_probe.CHECKS, "exp", lambda: 1 / 0)
    _probe.main("exp", "sqrt")
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first == {
        "name": "exp",
        "passed": False,
        "detail": "ZeroDivisionError: division by zero",
    }
    assert second["passed"]
