#!/bin/sh
# Gradescope runs this once, as root, when it makes the image: installs what the grader needs, builds it, and hides it.
# AUTOGRADER: where Gradescope's folders are; another place to try it.
set -eu

autograder=${AUTOGRADER:-/autograder}
source=$autograder/source
[ "$(id -u)" = 0 ] || { echo 'setup.sh must run as root: submissions run as a user that may not read the course.' >&2; exit 1; }

# A class of one, whose file does not compile: ./gemm installs and builds what grading takes, and sees that it works here.
export GEMM_DEVICE=cpu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/class/nobody"
echo '#error' >"$scratch/class/nobody/exercise_01.cu"
"$source/gemm/gemm" grade "$scratch/class" --out "$scratch/grades.csv" --tasks 01 --unsandboxed

# Submissions run as a user that owns nothing here, and see no lesson, no build and no answer.
chmod -R go-rwx "$source"
