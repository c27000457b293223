"""lessons.json: what the build writes of the lessons' descriptors, and what is made of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import describe, descriptors
from plots_synthetic import CUBLAS_BF16, described, gpu_results, run, svg_texts

from plots import data, progression, sweep, tables
from runner.core.descriptors import Variant, all_described, targets
from runner.core.descriptors import described as described_by
from runner.core.results import ROOT, UserError, folder_of, lessons, only_architecture
from runner.inspect import inspection
from runner.inspect.inspection import Request


def test_every_lesson_is_described_as_it_is() -> None:
    found = descriptors()
    assert list(found) == lessons()
    for name, one in found.items():
        assert one == described_by(ROOT / "build" / "cpu", name)
        assert (one.folder, one.number) == (folder_of(name), name.partition("_")[0])
        assert tuple(one.constants[key] for key in ("BM", "BN", "BK")) == one.tile
        only = only_architecture(name)
        assert all(variant.exactly == only and (variant.from_sm is None) == (only is not None) for variant in one.variants)
    ring = found["08a_ring"]
    rows, padded = ring.constants["BK"], ring.constants["BM"] + 4 + ring.constants["BN"]
    assert ring.dynamic_shared_bytes == 4 * ring.constants["STAGES"] * rows * padded


def test_estimates_are_of_the_lessons_own_tiles() -> None:
    # Four blocks of 07 are twice as many elements as four of 128×128, for which its kernel.cu was taken.
    request = Request(4096, 4096, 1024, "4")
    ready = inspection.estimate(Request(4096, 4096, 1024, "4"), (1, 1, 1))
    one = inspection.estimate(request, (128, 128, 8)) - ready
    assert inspection.estimate(request, descriptors()["07_double_buffer"].tile) - ready == pytest.approx(2 * one, rel=0.01)


def test_a_descriptor_that_is_not_there_or_of_another_version_is_one_sentence(tmp_path: Path) -> None:
    assert targets(["01_naive"]) == ["01_naive_json"]
    for text in (None, "{", "[]", '{"name": "01_naive"}'):
        if text is not None:
            describe(tmp_path, "01_naive")
            (tmp_path / "lessons" / "01_naive.json").write_text(text)
        with pytest.raises(UserError, match="01_naive_json again"):
            described_by(tmp_path, "01_naive")
    (tmp_path / "lessons.json").write_text(json.dumps({"lessons": [{"name": "x"}]}))
    with pytest.raises(UserError, match="gemm_lessons_json again"):
        all_described(tmp_path)
    describe(tmp_path, "11_wgmma", variants=[{"text": "bf16", "architectures": {"exactly": "90a"}}])
    assert described_by(tmp_path, "11_wgmma").variants == (Variant("bf16", None, "90a"),)


def test_a_variant_that_no_lesson_takes_yet_is_charted_without_a_special_case(tmp_path: Path) -> None:
    results = gpu_results(2, (1024, 4096))
    for size in (1024, 4096):
        results["runs"] += [run(name, rate, size, CUBLAS_BF16, "bf16.nt") for name, rate in (("11_x", 300.0), ("12_y", 400.0))]
    results["lessons"] = described(results["runs"])
    for name in ("11_x", "12_y"):
        results["lessons"][name]["ladder"] = "layouts"
    order = ["01_naive", "02_coalesced", "11_x", "12_y"]
    first, second = data.ladders(results, order)
    assert (first.name, first.progression, first.sweep) == ("fp32", "progression", "sweep")
    assert (second.variant, second.lessons, second.sweep) == ("bf16.nt", ("11_x", "12_y"), "layouts_sweep")
    for draw in (progression.draw, sweep.draw):
        texts = svg_texts(draw(results, tmp_path / "chart", second.lessons, second.variant)[1])
        assert any("BF16 NT" in text for text in texts)
        assert not any("01_naive" in text for text in texts)
    table = tables.render("layouts", results, order)
    assert "12_y" in table
    assert "01_naive" not in table
    assert "BF16 NT, alpha = 1" in table
    assert "12_y" not in tables.render("progression", results, order)
