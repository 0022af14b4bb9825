# shellcheck shell=bash disable=SC2034 # the lists are for those who source this
# What quickstart.sh, tests/run.sh and the container have in common: the packages that Trifuse needs, and building it. To be sourced; bash.

trifuse_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# how to see that it is there | Debian package | what it is for
trifuse_program_needs=(
  "command g++|g++|C++20 compiler (GCC 12 or newer)"
  "command cmake|cmake|CMake 3.25 or newer"
  "command ninja|ninja-build|Ninja, which runs the build"
  "command make|make|make, which runs it where a preset is built by hand"
  "command pkg-config|pkg-config|pkg-config, which finds libraries"
  "module openblas|libopenblas-dev|OpenBLAS: matrix products, eigenvalues"
  "module hdf5-serial hdf5|libhdf5-dev|HDF5 (C, serial): dump files"
  "module fmt|libfmt-dev|fmt: text"
  "module libxxhash|libxxhash-dev|xxHash: checksums of journals"
  "module zlib|zlib1g-dev|zlib: checksums of dumps"
  "module CLI11|libcli11-dev|CLI11: command line"
  "module nlohmann_json|nlohmann-json3-dev|JSON for Modern C++"
)
trifuse_job_needs=(
  "command mpicxx|libopenmpi-dev|MPI: several processes"
  "command mpirun|openmpi-bin|MPI: starting them"
  "command ga-config|libglobalarrays-dev|Global Arrays: operands that several processes share, tests of the interface to NWChem"
  "library libarmci-openmpi.a|libarmci-mpi-dev|ARMCI, which Global Arrays is linked with"
  "library libscalapack-openmpi.so|libscalapack-openmpi-dev|ScaLAPACK, which Global Arrays is linked with"
)
# Beside Open MPI, whose mpirun goes on to be the one without a suffix.
trifuse_mpich_needs=(
  "command mpicxx.mpich|libmpich-dev|MPICH: tests with another MPI"
  "command mpiexec.mpich|mpich|MPICH: starting processes"
  "library libga-mpich.a|libglobalarrays-dev|Global Arrays for MPICH"
  "library libarmci-mpich.a|libarmci-mpi-dev|ARMCI for MPICH"
  "library libscalapack-mpich.so|libscalapack-mpich-dev|ScaLAPACK for MPICH"
)
trifuse_test_needs=(
  "module gtest|libgtest-dev|GoogleTest"
  "command gfortran|gfortran|Fortran compiler: tests of the Fortran module"
  "command ip|iproute2|ip: tests of several hosts, where this machine may make them of namespaces"
  "python venv ensurepip|python3-venv|Python with venv: tests with PySCF"
  "command psi4|psi4|Psi4: test of the example with its arrays"
)

trifuse_say() { printf '%s\n' "$*" >&2; }

# trifuse_is_there KIND NAME...: for modules any of the names will do; libraries are files in the compiler's folders.
trifuse_is_there() {
  local kind=$1 name
  shift
  case $kind in
    command) command -v "$1" >/dev/null ;;
    library) [[ $(c++ -print-file-name="$1" 2>/dev/null) == /* ]] ;;
    module)
      for name in "$@"; do
        pkg-config --exists "$name" 2>/dev/null && return 0
      done
      return 1
      ;;
    python)
      for name in "$@"; do
        python3 -c "import $name" 2>/dev/null || return 1
      done
      ;;
  esac
}

# trifuse_find_missing LINE...: adds to the caller's `packages` and `purposes` what is not there.
trifuse_find_missing() {
  local line probe package purpose
  for line in "$@"; do
    IFS='|' read -r probe package purpose <<<"$line"
    # shellcheck disable=SC2086 # the probe is several words
    trifuse_is_there $probe && continue
    # Without pkg-config no module is seen, though its package may be installed.
    if [[ $probe == module* ]] && dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed'; then
      command -v pkg-config >/dev/null || continue
    fi
    packages+=("$package")
    purposes+=("$purpose")
  done
}

# trifuse_need LINE...: returns when all is there, having installed what was missing where that is possible.
trifuse_need() {
  local packages=() purposes=()
  trifuse_find_missing "$@"
  ((${#packages[@]})) || return 0
  if ! command -v apt-get >/dev/null; then
    trifuse_say "Please install these with the package manager of this system, and start again:"
    printf '  %s\n' "${purposes[@]}" >&2
    return 1
  fi
  local install="apt-get install -y --no-install-recommends ${packages[*]}"
  local become=()
  if [[ $(id -u) != 0 ]]; then
    if ! sudo -n true 2>/dev/null; then
      trifuse_say "Packages are missing. Please run this as root, and start again:"
      trifuse_say "  $install"
      return 1
    fi
    become=(sudo -n)
  fi
  trifuse_say "Installing ${packages[*]} ..."
  local messages status=0
  messages=$(mktemp)
  # A list that cannot be fetched may be of no importance; whether the packages can be, is seen next.
  "${become[@]}" apt-get -qq update >"$messages" 2>&1 || true
  # shellcheck disable=SC2086 # a command line
  "${become[@]}" env DEBIAN_FRONTEND=noninteractive $install -qq >>"$messages" 2>&1 || status=1
  if ((status)); then
    cat "$messages" >&2
    trifuse_say "The packages could not be installed (see above). What is needed: $install"
  fi
  rm -f "$messages"
  return $status
}

# trifuse_build PRESET [--target TARGET] [-DNAME=VALUE ...]: configures build/PRESET where that was not done with these settings, and
# builds what has changed.
trifuse_build() {
  local preset=$1 target=() folder="$trifuse_root/build/$1"
  shift
  if [[ ${1-} == --target ]]; then
    target=("$1" "$2")
    shift 2
  fi
  local jobs=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)} stamp="$folder/.settings"
  if command -v ninja >/dev/null; then
    export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}
  fi
  if command -v ccache >/dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER:-ccache}
  fi
  if [[ ! -f $folder/CMakeCache.txt || ! -f $stamp || $(<"$stamp") != "$*" ]]; then
    trifuse_say "Configuring build/$preset ..."
    rm -f "$stamp"
    (cd "$trifuse_root" && cmake --preset "$preset" "$@") >&2 || return
    printf '%s' "$*" >"$stamp"
  fi
  cmake --build "$folder" --parallel "$jobs" "${target[@]}" >&2
}
