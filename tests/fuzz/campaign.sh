#!/usr/bin/env bash
# Tries more than ten thousand damaged HDF5 dumps and as many mistakes in right numbers under the address and
# undefined-behaviour sanitizers, on all cores, and sums up how they ended; see damaged_hdf5_test.cpp and
# wrong_numbers_test.cpp.
#
#     tests/fuzz/campaign.sh [copies of each dump, 700 unless told otherwise] [mistakes of each class, door and molecule, 30]
#
# Fails if a copy ends in a crash, takes more than 20 s or has another error, if a sealed dump gives a wrong energy, or
# if more than one in a thousand of the others does; and if a mistake gives a wrong energy without a warning outside the
# blind spots that wrong_numbers_test.cpp lists. TRIFUSE_FUZZ_KEEP=FOLDER keeps the copies in question, and
# TRIFUSE_MISTAKE_LIST=FILE lists the mistakes in question.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -f build/sanitize/CMakeCache.txt ] || cmake --preset sanitize
cmake --build --preset sanitize --target fuzz_tests
tests=build/sanitize/tests/fuzz_tests
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
export TRIFUSE_FUZZ_ROUNDS=${1:-700} TRIFUSE_MISTAKE_ROUNDS=${2:-30} OMP_NUM_THREADS=1
"$tests" --gtest_list_tests --gtest_filter='*DamagedHdf5*:*WrongNumbers*' | sed -n 's|^  \([^ ]*\).*|\1|p' |
  xargs -P "$(nproc)" -I{} sh -c "'$tests' --gtest_filter='*{}' > '$results'/\$(basename {}) 2>&1 || echo failed > '$results'/\$(basename {}).failed"
grep -h -E '^copy|damaged copies|Failure|copy [0-9]+, |without a word' "$results"/* || true
awk '
  /damaged copies/ { copies += $2; refused += $5; energies += $7; off += $13; if ($0 ~ /unsealed/) { open += $2; open_off += $13 } }
  END {
    printf "%d damaged copies, %d refused, %d with an energy, %d of them wrong (%d of %d of unsealed dumps)\n", copies, refused, energies, off, open_off, open
    exit open_off * 1000 > open
  }' "$results"/*
# The table of mistakes, and their sums.
grep -h '^mistakes' "$results"/* | sort | awk -F '|' '
  BEGIN { printf "%-27s|%-31s|%7s|%9s|%8s|%10s|%6s|%7s|%7s\n", "class of mistakes", " door", "tried", "refused", "warned", "harmless", "weak", "blind", "silent" }
  { printf "%-27s|%-31s|%7d|%9d|%8d|%10d|%6d|%7d|%7d\n", $2, $3, $4, $5, $6, $7, $8, $9, $10; for (n = 4; n <= 10; ++n) sum[n] += $n }
  END { printf "%-27s|%-31s|%7d|%9d|%8d|%10d|%6d|%7d|%7d\n", "all", "", sum[4], sum[5], sum[6], sum[7], sum[8], sum[9], sum[10] }'
! ls "$results"/*.failed 2> /dev/null
