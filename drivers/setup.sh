# shellcheck shell=bash disable=SC2034 # scripts that source this file use the lists
# Functions and lists of quickstart.sh, tests/run.sh and the container, which source this file: they install the packages that Trifuse needs,
# and build it.

trifuse_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# probe (see trifuse_is_there) | package of Debian | of Fedora, Rocky | of conda-forge | purpose
trifuse_program_needs=(
  "compiler CXX g++|g++|gcc-c++|cxx-compiler|C++20 compiler (GCC 12 or newer)"
  "compiler CC gcc|gcc|gcc|c-compiler|C compiler"
  "command cmake|cmake|cmake|cmake|CMake 3.25 or newer"
  "command ninja|ninja-build|ninja-build|ninja|Ninja, which runs the build"
  "command make|make|make|make|make, which runs a build by hand without Ninja"
  "command pkg-config|pkg-config|pkgconf-pkg-config|pkg-config|pkg-config, which finds libraries"
  "module openblas cblas.h|libopenblas-dev|openblas-devel|openblas|OpenBLAS: matrix products, eigenvalues"
  "module hdf5-serial hdf5 hdf5.h|libhdf5-dev|hdf5-devel|hdf5|HDF5 (C): dump files"
  "module zlib zlib.h|zlib1g-dev|zlib-devel|zlib|zlib: checksums of dumps"
  "module fmt fmt/format.h|libfmt-dev|fmt-devel|fmt|fmt: text"
  "module libxxhash xxhash.h|libxxhash-dev|xxhash-devel|xxhash|xxHash: checksums of journals"
  "module CLI11 CLI/CLI.hpp|libcli11-dev|cli11-devel|cli11|CLI11: command line"
  "module nlohmann_json nlohmann/json.hpp|nlohmann-json3-dev|json-devel|nlohmann_json|JSON for Modern C++"
)
# With TRIFUSE_FETCH=ON in the environment or as CMake option, downloads replace these packages.
trifuse_fetched="libfmt-dev libxxhash-dev libcli11-dev nlohmann-json3-dev"
trifuse_job_needs=(
  "command mpicxx|libopenmpi-dev|openmpi-devel|openmpi|MPI: several processes"
  "command mpirun|openmpi-bin|openmpi|openmpi|MPI: starting them"
  "command ga-config|libglobalarrays-dev|ga-openmpi-devel||Global Arrays: tests of the interface to NWChem, and in place of windows of MPI"
  "library libarmci-openmpi.a|libarmci-mpi-dev|||ARMCI, which Global Arrays is linked with"
  "library libscalapack-openmpi.so|libscalapack-openmpi-dev|scalapack-openmpi-devel|scalapack|ScaLAPACK, which Global Arrays is linked with"
)
# MPICH is installed beside Open MPI. `mpirun` without a suffix stays Open MPI's.
trifuse_mpich_needs=(
  "command mpicxx.mpich|libmpich-dev|||MPICH: tests with another MPI"
  "command mpiexec.mpich|mpich|||MPICH: starting processes"
  "library libga-mpich.a|libglobalarrays-dev|||Global Arrays for MPICH"
  "library libarmci-mpich.a|libarmci-mpi-dev|||ARMCI for MPICH"
  "library libscalapack-mpich.so|libscalapack-mpich-dev|||ScaLAPACK for MPICH"
)
trifuse_venv_need="python venv ensurepip|python3-venv|python3|python|Python with venv: tests with PySCF, the tools of the wheel"
trifuse_test_needs=(
  "module gtest|libgtest-dev|gtest-devel|gtest|GoogleTest"
  "compiler FC gfortran|gfortran|gcc-gfortran|fortran-compiler|Fortran compiler: tests of the Fortran module"
  "command ip|iproute2|iproute|iproute2|ip: tests of several hosts, which are namespaces of this machine"
  "$trifuse_venv_need"
  "command psi4|psi4||psi4|Psi4: test of the example with its arrays"
  "command doxygen|doxygen|doxygen|doxygen|Doxygen: test of the documentation site"
)

trifuse_say() { printf '%s\n' "$*" >&2; }

# trifuse_has_header NAME: true if a compiler finds the header in an environment of conda, in the folders of CPATH (modules of a cluster) or, on
# a system without apt-get, in its own folders. Some libraries have no file for pkg-config there, for example Fedora's HDF5.
trifuse_has_header() {
  local folder folders
  IFS=: read -ra folders <<<"${CONDA_PREFIX:+$CONDA_PREFIX/include}:${CPATH-}"
  for folder in ${folders[@]+"${folders[@]}"}; do
    [[ -n $folder && -e $folder/$1 ]] && return 0
  done
  ! command -v apt-get >/dev/null && "${CXX:-c++}" -E -x c++ - <<<"#include <$1>" >/dev/null 2>&1
}

# trifuse_is_there KIND NAME...: true if it is installed. A module has one of these names in pkg-config, or a header. A library is a file in the
# compiler's folders. A compiler has a variable and a usual name.
trifuse_is_there() {
  local kind=$1 name
  shift
  case $kind in
    command) command -v "$1" >/dev/null ;;
    compiler)
      name=${!1:-$2}
      command -v "${name%% *}" >/dev/null # it may have options
      ;;
    library) [[ $(c++ -print-file-name="$1" 2>/dev/null) == /* ]] ;;
    module)
      for name in "$@"; do
        if [[ $name == *.h || $name == *.hpp ]]; then
          trifuse_has_header "$name" && return 0
        else
          pkg-config --exists "$name" 2>/dev/null && return 0
        fi
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

# trifuse_find_missing LINE...: adds what is missing to the caller's `packages` (Debian), `packages_fedora`, `packages_conda` and `purposes`.
trifuse_find_missing() {
  local line probe package fedora conda purpose
  for line in "$@"; do
    IFS='|' read -r probe package fedora conda purpose <<<"$line"
    # shellcheck disable=SC2086 # the probe is several words
    trifuse_is_there $probe && continue
    [[ ${TRIFUSE_FETCH-} != ON || " $trifuse_fetched " != *" $package "* ]] || continue
    # Without pkg-config, modules of installed packages are not found.
    if [[ $probe == module* ]] && dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed'; then
      command -v pkg-config >/dev/null || continue
    fi
    packages+=("$package")
    packages_fedora+=(${fedora:+"$fedora"})
    packages_conda+=(${conda:+"$conda"})
    purposes+=("$purpose")
  done
}

# Says which ways need no root.
trifuse_say_without_root() {
  trifuse_say "Without root, make an environment of conda-forge:"
  trifuse_say "  conda create -n trifuse -c conda-forge ${packages_conda[*]}"
  trifuse_say "  conda activate trifuse"
  trifuse_say "TRIFUSE_FETCH=ON in the environment downloads fmt, xxHash, CLI11 and JSON for Modern C++. drivers/docs/installing.md says more."
}

# trifuse_need LINE...: installs what is missing, or says how to install it and returns 1.
trifuse_need() {
  local packages=() packages_fedora=() packages_conda=() purposes=()
  trifuse_find_missing "$@"
  ((${#packages[@]})) || return 0
  if ! command -v apt-get >/dev/null; then
    trifuse_say "Trifuse needs the following, and this system has no apt-get to install it:"
    printf '  %s\n' "${purposes[@]}" >&2
    trifuse_say "Please install it and start again. On Fedora, or on Rocky with the repositories EPEL and CRB:"
    trifuse_say "  dnf install ${packages_fedora[*]}"
    trifuse_say_without_root
    return 1
  fi
  local install="apt-get install -y --no-install-recommends ${packages[*]}"
  local become=()
  if [[ $(id -u) != 0 ]]; then
    if ! sudo -n true 2>/dev/null; then
      trifuse_say "Packages are missing. Please run this command as root, and start again:"
      trifuse_say "  $install"
      trifuse_say_without_root
      return 1
    fi
    become=(sudo -n)
  fi
  trifuse_say "Installing ${packages[*]} ..."
  local messages status=0
  messages=$(mktemp)
  # If the lists of packages cannot be fetched, the next command may still succeed.
  "${become[@]}" apt-get -qq update >"$messages" 2>&1 || true
  # shellcheck disable=SC2086 # a command line
  "${become[@]}" env DEBIAN_FRONTEND=noninteractive $install -qq >>"$messages" 2>&1 || status=1
  if ((status)); then
    cat "$messages" >&2
    trifuse_say "The packages could not be installed (see above). The command was: $install"
  fi
  rm -f "$messages"
  return $status
}

# trifuse_build PRESET [--target TARGET] [-DNAME=VALUE ...]: configures build/PRESET if it was not configured with these settings, and builds
# what has changed.
trifuse_build() {
  local preset=$1 target=() folder="$trifuse_root/build/$1"
  shift
  if [[ ${1-} == --target ]]; then
    target=("$1" "$2")
    shift 2
  fi
  local jobs=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)} stamp="$folder/.settings"
  if [[ ${TRIFUSE_FETCH-} == ON ]]; then
    set -- "$@" -DTRIFUSE_FETCH=ON ${TRIFUSE_FETCH_ARCHIVES:+"-DTRIFUSE_FETCH_ARCHIVES=$TRIFUSE_FETCH_ARCHIVES"}
  fi
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
