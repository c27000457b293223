#!/bin/bash
# Times 15d's configurations at some sizes: one line per size and configuration.
# ./trial.sh [FOLDER]     on a GPU: builds gemm_trial in build/cuda where it is missing; results go to FOLDER
# TRIAL_DEVICE=cpu ./trial.sh [FOLDER]     on the CPU device, small sizes, verified alone
# TRIAL_CLASSES="rows columns small steps odd"     which of them; TRIAL_ROUNDS=3
set -u
cd "$(dirname "$0")" || exit 1
device=${TRIAL_DEVICE:-cuda} out=${1:-build/trial} rounds=${TRIAL_ROUNDS:-3}
program=build/$device/bin/gemm_trial
mkdir -p "$out"
if [ ! -x "$program" ]; then
    { cmake --preset "$device" -G Ninja ${TRIAL_CMAKE:-} && cmake --build "build/$device" --target gemm_trial; } \
        >"$out/build.log" 2>&1 || { tail -30 "$out/build.log"; exit 1; }
fi

# Of these shapes, each number of blocks an SM.
configurations() {
    local names=15a_split_k,15b_stream_k,15d_choose most b s
    for s in "$@"; do
        case $s in  # as MIN_BLOCKS in kernel.cu
            00) most=6 ;; 01) most=5 ;; 03 | 05 | 10 | 14 | 16 | 17) most=4 ;; 07 | 18 | 19 | 20) most=2 ;; 08) most=1 ;; *) most=3 ;;
        esac
        for ((b = 0; b <= most; ++b)); do names+=,15d_s${s}_b$b; done
        [ -z "${half:-}" ] || names+=,15d_s${s}_b7
    done
    echo "$names"
}

# class sizes shapes…
measure() {
    local class=$1 sizes=$2
    shift 2
    case " ${TRIAL_CLASSES:-rows columns small steps odd} " in *" $class "*) ;; *) return ;; esac
    local options=(--sizes "$sizes" --lessons "$(configurations "$@")" --seed 1 --output "$out/$class.json")
    if [ "$device" = cuda ]; then options+=(--brief --rounds "$rounds" --patience 20); fi
    local start=$SECONDS
    rm -f "$out/$class.json"
    GEMM_TRIAL_SAY=1 "$program" "${options[@]}" 2>"$out/$class.err" >/dev/null ||
        { echo "# $class: exit $?"; grep -v '^progress\|^15d ' "$out/$class.err" | tail -5; }
    grep -h '^15d ' "$out/$class.err" | sort -u >"$out/$class.say"
    echo "# $class: $((SECONDS - start)) s"
}

if [ "$device" = cpu ]; then
    measure rows 3x300x530,17x133x260 00 01 02 03 04 05 17
    measure columns 300x20x530,131x33x65 05 09 10 11 12 13 14 16
    half=1 measure small 60x32x700 03 05 06 07 09 10 11 13 14 15 16 17
    measure steps 260x160x40 05 06 07 08 09 14 15 19
    measure odd 61x131x257 01 05 06 07 08 10 11
else
    measure rows 1x4096x14336,1x28672x4096,1x4096x4096,8x4096x14336,16x4096x14336,16x28672x4096,16x4096x4096,32x4096x14336,48x4096x4096 \
        00 01 02 03 04 05 17
    measure columns 9840x32x16096,5056x32x4880,15696x48x9040,14016x64x1568,4096x16x4096,3072x32x32 \
        05 09 11 12 13 14 16 18 19 20
    half=1 measure small 256x32x13968,176x32x5424,160x160x5472,256x256x16384,512,768,1024 \
        03 05 06 07 09 10 11 13 14 15 16 17
    measure steps 7600x1152x64,4896x160x416,2048 04 05 06 07 08 09 14 15 19
    measure odd 1001x1003x1005,16x4099x4097,4099x33x4097,255x257x8193,2047x2049x2051 01 02 05 06 07 08 10 11 13 18 20
fi

python3 - "$out" <<'PYTHON'
import json, pathlib, sys
out = pathlib.Path(sys.argv[1])
# As in kernel.cu: BM, BN, BK, STAGES, blocks an SM, ns of a step. `expected` is what its estimate says.
SHAPES = [(8, 128, 16, 4, 6, 10), (16, 128, 16, 4, 5, 17.4), (16, 256, 16, 4, 3, 29.5), (32, 128, 16, 4, 4, 27.8),
          (32, 256, 16, 4, 3, 45.9), (64, 64, 16, 4, 4, 29), (64, 128, 16, 4, 3, 45), (128, 128, 8, 4, 2, 81.9),
          (128, 256, 8, 4, 1, 160), (128, 64, 16, 4, 3, 45.3), (128, 32, 16, 4, 4, 32.4), (128, 32, 32, 3, 3, 26.6),
          (128, 16, 32, 3, 3, 16.5), (256, 32, 16, 3, 3, 47), (64, 64, 16, 4, 4, 26.2), (64, 128, 16, 4, 3, 45.3),
          (64, 32, 32, 3, 4, 15.5), (32, 64, 32, 3, 4, 15.5), (512, 32, 8, 3, 2, 145), (256, 64, 8, 4, 2, 81.9),
          (256, 48, 8, 4, 2, 62)]
def up(a, b): return -(-a // b)
def expected(m, n, k, shape, slices, sms=132):
    bm, bn, bk, stages, resident, step = SHAPES[shape]
    of_sm = up(up(m, bm) * up(n, bn) * slices, sms)
    together = min(of_sm, resident)
    products = of_sm * up(up(k, bk), slices) * bk * step * (1.18 if together == 1 else 1)
    flight = together * (stages - 1) * bk * 4 * (min(m, bm) + min(n, bn))
    dram = 4 * (m * k + k * n + m * n) / (4130 * min(1, flight / 71680))
    return (2000 + 700 * up(of_sm, resident) + max(products, dram) + (2500 + 2 * m * n * slices / 1000) * (slices > 1)) / 1e3
for file in (out / f"{c}.json" for c in ("rows", "columns", "small", "steps", "odd")):
    if not file.exists():
        continue
    said = {}
    for line in file.with_suffix(".say").read_text().splitlines():
        _, size, trial, _, shape, tile, _, slices, _, blocks, _, resident = line.split()
        said[size, trial] = (tile, int(slices), int(blocks), int(resident))
    result = json.loads(file.read_text())
    if "lost" in result:
        print(f"# {file.stem}: lost: {result['lost']}")
        continue
    for f in result["failed"]:
        print(f"FAILED {f['lesson']} {f['m']}x{f['n']}x{f['k']}: {f['failure'][:200]}")
    sizes = {}
    for run in result["runs"]:
        sizes.setdefault((run["m"], run["n"], run["k"]), []).append(run)
    for (m, n, k), runs in sizes.items():
        timed = [r for r in runs if "ratio" in r]
        head = f"{m}x{n}x{k}"
        if timed:
            us = 1e3 * timed[0]["baseline_ms_median"]
            floor = 4 * (m * k + k * n + m * n) / 4.13e6, m * n * k / (132 * 128 * 1.755e3)
            print(f"\n{head}: cuBLAS {us:.1f} us, {timed[0]['baseline']}; bytes {floor[0]:.1f} us, products {floor[1]:.1f} us, "
                  f"{timed[0]['cache']}, {timed[0]['sm_clock_mhz']} MHz")
        else:
            print(f"\n{head}: verified {len(runs)}")
        seen = set()
        for r in sorted(runs, key=lambda r: -r.get("ratio", 0)):
            name = r["lesson"]
            trial = "chosen" if name == "15d_choose" else ""
            if name.startswith("15d_s"):
                b = name[-1]
                trial = f"{int(name[5:7])}," + {"0": "1", "7": "h"}.get(b, "b" + b)
            tile, slices, blocks, resident = said.get((head, trial), ("", 0, 0, 0))
            if (tile, slices, name[:7]) in seen and name.startswith("15d_s"):
                continue  # more blocks than there is use for: the same launch again
            seen.add((tile, slices, name[:7]))
            print(f"{head} {name} {tile} slices {slices} blocks {blocks} resident {resident} "
                  f"ratio {r.get('ratio', 0):.3f} us {1e3 * r.get('ms_median', 0):.2f}"
                  + (f" expected {expected(m, n, k, int(name[5:7]), slices):.1f}" if name.startswith("15d_s") else ""))
PYTHON
