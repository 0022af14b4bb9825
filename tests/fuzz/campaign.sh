#!/usr/bin/env bash
# Tries more than ten thousand damaged HDF5 dumps under the address and undefined-behaviour sanitizers, on all cores, and
# sums up how they ended; see damaged_hdf5_test.cpp.
#
#     tests/fuzz/campaign.sh [copies of each dump, 700 unless told otherwise]
#
# Fails if a copy ends in a crash, takes more than 20 s or has another error, if a sealed dump gives a wrong energy, or
# if more than one in a thousand of the others does. TRIFUSE_FUZZ_KEEP=FOLDER keeps the copies in question.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -f build/sanitize/CMakeCache.txt ] || cmake --preset sanitize
cmake --build --preset sanitize --target fuzz_tests
tests=build/sanitize/tests/fuzz_tests
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
export TRIFUSE_FUZZ_ROUNDS=${1:-700} OMP_NUM_THREADS=1
"$tests" --gtest_list_tests --gtest_filter='*DamagedHdf5*' | sed -n 's|^  \([^ ]*\).*|\1|p' |
  xargs -P "$(nproc)" -I{} sh -c "'$tests' --gtest_filter='*{}' > '$results'/\$(basename {}) 2>&1 || echo failed > '$results'/\$(basename {}).failed"
grep -h -E '^copy|damaged copies|Failure|copy [0-9]+, ' "$results"/* || true
cat "$results"/* | awk '
  /damaged copies/ { copies += $2; refused += $5; energies += $7; off += $13; if ($0 ~ /unsealed/) { open += $2; open_off += $13 } }
  END {
    printf "%d damaged copies, %d refused, %d with an energy, %d of them wrong (%d of %d of unsealed dumps)\n", copies, refused, energies, off, open_off, open
    exit open_off * 1000 > open
  }'
! ls "$results"/*.failed 2> /dev/null
