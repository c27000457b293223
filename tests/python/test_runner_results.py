"""runner/core/results.py: lesson list, hashes, results files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import results, run_entry, timed_entry

from runner.core import recorded
from runner.core.results import (
    ROOT,
    UserError,
    folder_of,
    former_folder,
    former_names,
    gpu_slug,
    key_of,
    lessons,
    load,
    only_architecture,
    writable_folder,
    write_atomically,
)


def test_a_step_has_a_folder_of_another_name(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "gemm_lesson(08_cp_async)\ngemm_program(08_stream 08_cp_async/stream.cu)\n"
        "gemm_lesson(09a_wmma 09_tensorcore/a_wmma)\n  gemm_lesson( 09b_mma_sync   09_tensorcore/b_mma_sync )\n"
        "# gemm_lesson(10_x y)\ngemm_lesson(11_y)  # (z)\n"
    )
    assert lessons(tmp_path) == ["08_cp_async", "09a_wmma", "09b_mma_sync", "11_y"]
    folders = [folder_of(lesson, tmp_path) for lesson in lessons(tmp_path)]
    assert folders == ["08_cp_async", "09_tensorcore/a_wmma", "09_tensorcore/b_mma_sync", "11_y"]
    assert folder_of("12_unknown", tmp_path) == "12_unknown"


def test_every_lesson_of_this_repository_has_its_sources() -> None:
    assert lessons()
    assert all((ROOT / folder_of(lesson) / name).is_file() for lesson in lessons() for name in ("kernel.cu", "main.cpp"))


def test_what_follows_a_lessons_folder_is_none(tmp_path: Path) -> None:
    lines = (
        "gemm_lesson(01_naive INSTALLED)\ngemm_lesson(11_wgmma INSTALLED ARCHITECTURES 90a)\n"
        "gemm_lesson(13b_x 13_y/b ARCHITECTURES 90a)\n"
    )
    (tmp_path / "CMakeLists.txt").write_text(lines)
    assert lessons(tmp_path) == ["01_naive", "11_wgmma", "13b_x"]
    assert [folder_of(name, tmp_path) for name in lessons(tmp_path)] == ["01_naive", "11_wgmma", "13_y/b"]
    assert [only_architecture(name, tmp_path) for name in lessons(tmp_path)] == [None, "90a", "90a"]


def test_a_lesson_is_known_by_the_names_that_it_had(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "gemm_lesson(12_a FORMERLY 11_a)\ngemm_lesson(13c_x 13_y/c_x ARCHITECTURES 90a)\n"
        "gemm_lesson(13d_x 13_y/d_x ARCHITECTURES 90a\n            FORMERLY 13c_z 13_w)\n"
    )
    assert [only_architecture(name, tmp_path) for name in lessons(tmp_path)] == [None, "90a", "90a"]
    assert former_names(tmp_path) == {"11_a": "12_a", "13c_z": "13d_x", "13_w": "13d_x"}
    assert [former_folder(name, tmp_path) for name in former_names(tmp_path)] == ["11_a", "13_y/c_z", "13_w"]


def test_lessons_without_cmakelists(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no readable CMakeLists"):
        lessons(tmp_path)


def test_what_is_not_recorded_yet_is_known(tmp_path: Path) -> None:
    folder = tmp_path / "plots" / "results"
    folder.mkdir(parents=True)
    (tmp_path / "CMakeLists.txt").write_text("gemm_lesson(01_a)\ngemm_lesson(02_b)\ngemm_lesson(11_c ARCHITECTURES 90a)\n")
    assert recorded.missing(tmp_path) == []  # nothing is recorded at all, of a GPU of one's own
    (folder / "h200.json").write_text(json.dumps({"runs": [{"lesson": "01_a"}]}))
    for name in ("autotune", "timeline"):
        (folder / f"h200-{name}.json").write_text(json.dumps({"lessons": {"01_a": {}}}))
    (tmp_path / "02_b").mkdir()
    (tmp_path / "02_b" / "tune.py").touch()
    (folder / "h200-atlas-fp32.json").touch()
    chart, autotune, timeline, atlas = recorded.missing(tmp_path)
    assert "chart: 02_b, 11_c. ./gemm chart --record" in chart
    assert "autotune: 02_b. ./gemm autotune --record" in autotune  # where there is a tune.py
    assert "timeline: 11_c. ./gemm timeline --record" in timeline  # where there are mbarriers
    assert "atlas: bf16. ./gemm atlas --record" in atlas


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("NVIDIA H200", "h200"),
        ("NVIDIA GeForce RTX 4090", "geforce-rtx-4090"),
        ("Tesla T4", "tesla-t4"),
        ("NVIDIA A100-PCIE-40GB!", "a100-pcie-40gb"),
    ],
)
def test_gpu_slug(name: str, slug: str) -> None:
    assert gpu_slug(name) == slug


def test_load_takes_what_the_bench_writes(tmp_path: Path) -> None:
    path = tmp_path / "h200.json"
    path.write_text(json.dumps(results(run_entry(), timed_entry())))
    assert load(path)["runs"][1]["ratio"] == 0.5


def without(entry: dict, key: str) -> dict:
    return {name: value for name, value in entry.items() if name != key}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "There are no results in"),
        ("{", "is not valid JSON"),
        ("[]", "holds no JSON object"),
        (json.dumps({**results(), "schema": 3}), "schema 3, but this version reads schema 2"),
        (json.dumps(without(results(), "schema")), "schema None"),
        (json.dumps(without(results(), "runs")), "lacks its runs"),
        (json.dumps({**results(), "device": {}}), "lacks its runs or its device"),
        (json.dumps(results(without(run_entry(), "error_over_bound"))), "a run without error_over_bound"),
        (json.dumps(results(without(timed_entry(), "baseline_ms_median"))), "a run without baseline_ms_median"),
    ],
)
def test_load_says_what_is_wrong(tmp_path: Path, content: str | None, words: str) -> None:
    path = tmp_path / "gpu.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UserError, match=words) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", ["{", "[]", json.dumps({**results(), "schema": 3}), json.dumps(without(results(), "runs"))])
def test_recorded_results_are_brought_back_with_git(tmp_path: Path, content: str) -> None:
    path = tmp_path / "plots" / "results" / "h200.json"
    path.parent.mkdir(parents=True)
    path.write_text(content)
    with pytest.raises(UserError, match=r"git checkout plots/results/h200\.json, or measure again with ./gemm chart --record"):
        load(path)


def test_writable_folder(tmp_path: Path) -> None:
    writable_folder(tmp_path / "a" / "b")
    assert not list((tmp_path / "a" / "b").iterdir())
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UserError, match=str(path)):
            writable_folder(path)


def test_write_atomically_replaces_and_leaves_no_temporary(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.json"
    write_atomically(path, "old")
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(path.parent.iterdir()) == [path]


def test_write_atomically_lets_others_read_only_what_they_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modes, write = [], Path.write_bytes

    def written(path: Path, data: bytes) -> int:
        modes.append(path.stat().st_mode & 0o777)  # already before there is anything to read
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", written)
    for mode in (0o600, 0o644):
        write_atomically(tmp_path / "a.json", "{}", mode)
        modes.append((tmp_path / "a.json").stat().st_mode & 0o777)
    assert modes == [0o600, 0o600, 0o644, 0o644]


def test_write_atomically_keeps_the_old_file_when_it_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    write_atomically(path, "old")

    def full(_self: Path, _data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(UserError, match="cannot be written: No space left"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_result_without_a_batch_is_of_one_problem() -> None:
    one = {"lesson": "09a_wmma", "variant": "bf16", "m": 64, "n": 64, "k": 64}
    assert key_of(one) == key_of({**one, "batch": 1}) == ("09a_wmma", "bf16", 64, 64, 64, 1, ())
    assert len({key_of({**one, **more}) for more in ({}, {"variant": "fp16"}, {"batch": 8}, {"k": 8})}) == 4
    assert (key_of(one).square, key_of({**one, "batch": 8}).square, key_of({**one, "k": 8}).square) == (64, None, None)
    grouped = key_of({**one, "batch": 3, "groups": [[64, 64, 64], [0, 64, 64], [1, 1, 1]]})
    assert (grouped.flop, grouped.square, grouped.shape) == (2 * (64**3 + 1), None, "3 groups · 64×64×64")
    assert grouped != key_of({**one, "batch": 3})
