"""Writes what an NVIDIA GPU of compute capability 9.0 gives for random cases of clusters, for test_hopper.py to hold every
device against:

    cmake --build --preset cuda --target cluster_cases
    .venv/bin/python tests/python/record_clusters.py
"""

from __future__ import annotations

import sys

from record_hopper import ROOT, SEEDS, record

RECORDED = ROOT / "tests" / "recorded" / "h200-clusters.json"
MODES = {"cluster_cases": 7}  # the last one is the launches that are refused

if __name__ == "__main__":
    sys.exit(record(RECORDED, MODES, SEEDS))
