"""./gemm timeline: the copy of a kernel that writes clocks down, lanes from these and from the CPU device, pictures, refusals."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import timeline_synthetic as synthetic
from conftest import Checkout, drawn, gemm_inspect, some
from test_nvcc import ERRORS, compile_kernel, find_nvcc

from plots import data, timeline
from plots.style import style
from runner.core import lanes
from runner.core.descriptors import known
from runner.core.kernel_hash import kernel_hash
from runner.core.lanes import Lane, Span, Timeline
from runner.core.results import ROOT, UserError, folder_of
from runner.measure import stamping
from runner.measure import timeline as command

NAMES = stamping.eligible()
ON_CPU, ON_GPU = data.timeline_of_cpu(ROOT), data.timeline(ROOT)
HIGHEST = 1600 / 150  # inches of a picture
# A lesson that is new has none until the GPU's next recording.
RECORDED = [name for name in NAMES if ON_GPU and name in ON_GPU["lessons"]]


def kernel(name: str) -> str:
    return (ROOT / folder_of(name) / "kernel.cu").read_text(encoding="utf-8")


# The copy


@pytest.mark.parametrize("name", NAMES)
def test_a_copy_is_the_kernel_but_for_its_stamps(name: str) -> None:
    made = stamping.stamped(kernel(name))
    head, line, text = made.text.partition("#line 1\n")
    assert head == '#include "runner/programs/stamps.hpp"\n'
    assert line
    numbers = [int(number) for number in re.findall(r"gemm::timeline::At<(\d+)>", text)]
    assert numbers == list(range(2, len(made.sites)))
    back = re.sub(r"gemm::timeline::At<\d+>::syncthreads", "__syncthreads", text)
    back = re.sub(r"gemm::timeline::At<\d+>", "gemm::ptx", back)
    assert back.count(" const gemm::timeline::Block gemm_timeline_block;") == len(re.findall(r"^__global__", kernel(name), re.M))
    assert back.replace(" const gemm::timeline::Block gemm_timeline_block;", "") == kernel(name)
    for number, site in zip(numbers, made.sites[2:], strict=True):
        assert f"At<{number}>::{site.what}" in text.splitlines()[site.line - 1]


def test_comments_and_strings_are_not_stamped() -> None:
    text = """// gemm::ptx::mbarrier_wait(a, 0) and __syncthreads()
__global__ void __launch_bounds__(32 * (1 + 1)) f(int (*g)(int), const char* s = "gemm::ptx::wgmma_commit()") {
    /* __global__ void g() { __syncthreads(); } */
    gemm::ptx::bulk_wait<(1 > 0)>();
    gemm::ptx::mbarrier_waits(s, x);
}
"""
    made = stamping.stamped(text)
    assert [site.what for site in made.sites[2:]] == ["bulk_wait"]
    assert 'wgmma_commit()") { const gemm::timeline::Block' in made.text
    assert made.text.count("gemm::timeline::Block") == 1


@pytest.mark.parametrize("text", ["__global__ void f() {}", "void f() { __syncthreads(); }"])
def test_what_cannot_be_stamped_is_said(text: str) -> None:
    with pytest.raises(ValueError, match="there is no"):
        stamping.stamped(text)


def test_arguments_name_the_mbarrier() -> None:
    by_line = {site.line: site.argument for site in stamping.stamped(kernel("13d_ping_pong")).sites if "wait" in site.what}
    found = {lanes.base(argument) for argument in by_line.values() if "barriers" in argument}
    assert found == {"full", "empty", "turn"}


@pytest.mark.long
@pytest.mark.skipif(not find_nvcc(), reason="needs nvcc")
@pytest.mark.parametrize("name", some(NAMES, 1, 4))
def test_copies_compile_and_do_not_spill(name: str, tmp_path: Path) -> None:
    source = tmp_path / "kernel.cu"
    source.write_text(stamping.stamped(kernel(name)).text, encoding="utf-8")
    # Of all but the first, what is for the device alone: stamps are in nothing else.
    done = compile_kernel(source, tmp_path / "o", ["90a"], "-c" if name == NAMES[0] else "-cubin")
    assert done.returncode == 0, done.stderr
    assert not ERRORS.search(done.stderr), done.stderr


# From stamps


def test_lanes_of_stamps() -> None:
    found = lanes.from_stamps(synthetic.block())
    assert [lane.name for lane in found.lanes] == ["producer", "consumer 0", "consumer 1"]
    producer, consumer = found.lanes[:2]
    # Behind the barrier at 60 the producer asks for a tile every 20 cycles; the consumers go on with each as it lands, and
    # with the later ones when they have time.
    assert [span.begin for span in producer.of("loads")][:4] == [0, 20, 40, 60]
    assert producer.of("loads")[0] == Span("loads", 0, synthetic.FLIGHT)
    assert len(producer.of("loads")) == len(consumer.of("products")) == synthetic.STEPS
    first = synthetic.FLIGHT + 5
    assert consumer.of("products")[0].begin == first
    assert consumer.of("full") == [Span("full", 0, synthetic.FLIGHT)]
    writes = consumer.of("writes")
    assert [span.end - span.begin for span in writes] == [synthetic.STORE]
    assert found.idle() == (first, 0, synthetic.STORE)
    assert found.length == synthetic.FLIGHT + synthetic.STEPS * synthetic.BATCH + synthetic.STORE


def test_overlaps_count_once() -> None:
    lane = Lane("a", 0, 9, (Span("full", 1, 4), Span("full", 2, 3), Span("full", 4, 5), Span("full", 7, 8)))
    assert lanes.union(lane.of("full")) == [(1, 5), (7, 8)]
    assert lane.spent("full") == 5
    assert Timeline((lane,), "steps").idle() is None


# What is recorded


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_stamps_are_complete(name: str) -> None:
    assert ON_GPU
    block = ON_GPU["lessons"][name]
    current = block["kernel_hash"] == kernel_hash(ROOT / folder_of(name) / "kernel.cu")
    shown = f"<!-- timeline:{name} -->" in (ROOT / folder_of(name) / "README.md").read_text(encoding="utf-8")
    assert current or not shown, "record it again on that GPU"
    assert not any(warp["lost"] for warp in block["warps"])
    found = lanes.from_stamps(block)
    whats = [block["sites"][stamp[0]][0] for warp in block["warps"] for stamp in warp["stamps"]]
    assert sum(len(lane.of("loads")) for lane in found.lanes) == whats.count("mbarrier_arrive_expect_tx")
    assert sum(len(lane.of("products")) for lane in found.lanes) == whats.count("wgmma_commit")
    assert all(0 <= span.begin < span.end <= found.length for lane in found.lanes for span in lane.spans)


@pytest.mark.parametrize("name", drawn(NAMES, 2))
def test_the_cpu_device_does_what_is_recorded(name: str) -> None:
    assert ON_CPU
    block = ON_CPU["lessons"][name]
    assert block["kernel_hash"] == kernel_hash(ROOT / folder_of(name) / "kernel.cu"), "GEMM_DEVICE=cpu ./gemm timeline --record"
    now = command.on_cpu(gemm_inspect(), name, (block["m"], block["n"], block["k"]))
    assert json.loads(json.dumps(lanes.as_recorded(now))) == block["lanes"]
    assert lanes.from_recorded(block) == now


@pytest.mark.parametrize("name", RECORDED)
def test_both_show_the_same_block(name: str) -> None:
    """The same lanes, tiles and batches, whoever has run it."""
    assert ON_CPU and ON_GPU
    on_cpu, on_gpu = lanes.from_recorded(ON_CPU["lessons"][name]), lanes.from_stamps(ON_GPU["lessons"][name])
    for kind in ("loads", "products"):
        assert {a.name: len(a.of(kind)) for a in on_cpu.lanes} == {a.name: len(a.of(kind)) for a in on_gpu.lanes}


@pytest.mark.parametrize("name", NAMES)
def test_pictures_are_no_taller_than_a_screen(name: str) -> None:
    assert ON_CPU
    gpu = lanes.from_stamps(ON_GPU["lessons"][name] if ON_GPU and name in RECORDED else synthetic.block())
    with style():
        figure = timeline.twin(name, lanes.from_recorded(ON_CPU["lessons"][name]), ("NVIDIA H200", gpu))
    assert figure.get_size_inches()[1] <= HIGHEST
    texts = [text.get_text() for text in figure.axes[0].texts]
    for kind in gpu.kinds:
        assert any(lanes.TOLD[kind].split()[0] in text for text in texts), kind


def test_the_two_halves_may_be_pictures_of_their_own(tmp_path: Path) -> None:
    """As lesson 12 has them: the question is between the two."""
    lesson = known()[synthetic.LESSON]
    with style():
        order, cycles = timeline.order_of_lesson(ROOT, lesson), timeline.cycles_of_lesson(ROOT, lesson)
    titles = [{text.get_text() for text in figure.axes[0].texts} for figure in (order, cycles)]
    cpu, gpu = "CPU device: in which order, not when", "NVIDIA H200: cycles"
    assert [(cpu in texts, gpu in texts) for texts in titles] == [(True, False), (False, True)]
    shutil.copytree(ROOT / "plots" / "results", tmp_path / "plots" / "results", ignore=lambda *_: ["h200-timeline.json"])
    timeline.order_of_lesson(tmp_path, lesson)
    with pytest.raises(UserError, match=r"h200-timeline.json has no 12_warp_specialized; ./gemm timeline --record"):
        timeline.cycles_of_lesson(tmp_path, lesson)


# The command


def test_what_has_no_timeline_is_one_sentence(checkout: Checkout) -> None:
    checkout.env["GEMM_DEVICE"] = "cpu"
    checkout.fails("timeline", words=("one LESSON", "--record"))
    checkout.fails("timeline", "01", words=("01_naive", "mbarrier"))
    checkout.fails("timeline", "01", "--record", words=("every lesson", "leave"))
    checkout.fails("timeline", "01", "--m", "0", words=("--m", "1"))


def test_of_another_shape_the_recorded_is_left_out(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("GEMM_DEVICE", "cpu")
    monkeypatch.setattr(command, "recorded_in", lambda *of: synthetic.recorded())
    assert command._of_gpu(synthetic.LESSON, (2048, 4096, 512)) == ("NVIDIA H200", synthetic.block())
    assert command._of_gpu(synthetic.LESSON, (2048, 4096, 1024)) is None
    assert "recorded at 2048×4096×512" in capsys.readouterr().err
    monkeypatch.setattr(command, "hash_of", lambda _: "of another kernel")
    assert command._of_gpu(synthetic.LESSON, (2048, 4096, 512)) is None
    assert "older kernel" in capsys.readouterr().err


def test_a_recording_is_a_line_a_stamp() -> None:
    text = command.as_text(synthetic.recorded())
    assert json.loads(text) == synthetic.recorded()
    stamps = sum(len(warp["stamps"]) for warp in synthetic.block()["warps"])
    assert len(text.splitlines()) < stamps + len(synthetic.sites()) + 60


def test_gemm_timeline_of_another_version_is_refused() -> None:
    with pytest.raises(UserError, match="schema 2"):
        command.block_of(synthetic.LESSON, {"schema": 2}, stamping.stamped(kernel(synthetic.LESSON)))
