#!/bin/sh
# classroom/github/grade.sh CLASS OUT: grades the one submission in the folder CLASS, a folder or a zip with the learner's name.
# OUT gets its page, results.json and grades.csv. TASKS: such as 01,02,03,03-hunt; every task without it.
# REQUIRED: those of them that must pass; all of TASKS without it.
# Exit status: 0 what is required has passed, 1 it has not, 2 it could not be graded.
set -u

[ $# = 2 ] || { echo 'grade.sh takes two folders: CLASS, with one submission, and OUT.' >&2; exit 2; }
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 2
class=$(CDPATH='' cd -- "$1" && pwd) || exit 2
mkdir -p "$2" || exit 2
out=$(CDPATH='' cd -- "$2" && pwd) || exit 2
scratch=$(mktemp -d) || exit 2 # the seeds are in it: it is not handed out
trap 'rm -rf "$scratch"' EXIT
trap 'exit 2' HUP INT TERM

export GEMM_DEVICE=cpu
"$here/../../gemm" grade "$class" --out "$scratch/grades.csv" ${TASKS:+--tasks "$TASKS"} || exit 2
python3 "$here/report.py" "$scratch/grades/grades.json" "${REQUIRED:-${TASKS:-}}"
status=$?
cp "$scratch/grades.csv" "$scratch/grades"/*/index.html "$scratch/grades"/*/results.json "$out" || exit 2
chmod a+r "$out"/* # root made them, and another user uploads them
exit "$status"
