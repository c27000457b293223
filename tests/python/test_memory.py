"""runner/core/memory.py's rules are the tracer's: of every request in the table that tests/cpu/trace/request_rules_test.cpp
writes. website/explorer/banks.js is held against the same table (tests/explorer/rules.test.js)."""

from __future__ import annotations

import json

from runner.core import memory
from runner.core.results import ROOT

TABLE = json.loads((ROOT / "tests" / "recorded" / "requests.json").read_text(encoding="utf-8"))


def test_sectors_are_the_tracers() -> None:
    requests = [one for one in TABLE if "sectors" in one]
    assert [memory.sectors(one["addresses"], one["width"]) for one in requests] == [one["sectors"] for one in requests]


def test_wavefronts_of_4_bytes_are_the_tracers() -> None:
    requests = [one for one in TABLE if "store" in one and one["width"] == 4 and not any(at % 4 for at in one["addresses"])]
    assert len(requests) > 30
    assert [memory.wavefronts(at // 4 for at in one["addresses"]) for one in requests] == [one["wavefronts"] for one in requests]
