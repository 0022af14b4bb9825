#!/usr/bin/env bash
# no_apt.sh SOURCE FOLDER: what drivers/setup.sh says where packages are missing: without apt-get, and without root. The commands of these
# systems are in FOLDER.
set -euo pipefail
root=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder"
for command in bash cat dirname grep; do
  ln -s "$(command -v $command)" "$folder/$command"
done

# expect STATEMENT PATTERN...: runs STATEMENT after setup.sh; it fails, and says all patterns.
expect() {
  local statement=$1 answer pattern
  shift
  if answer=$(env -i PATH="$folder" "${environment[@]}" bash -c "source '$root/drivers/setup.sh'; $statement" 2>&1); then
    echo "$statement succeeded." >&2
    exit 1
  fi
  for pattern in "$@"; do
    grep -qE -- "$pattern" <<<"$answer" || { printf '%s\ndoes not say: %s\n' "$answer" "$pattern" >&2; exit 1; }
  done
}

needs="trifuse_need 'command no-such|on-debian|on-fedora|on-conda|a tool' 'module fmt|libfmt-dev|fmt-devel|fmt|fmt: text'"
environment=(A=a)
expect "$needs" '^  a tool$' '^  dnf install on-fedora fmt-devel$' '^  conda create .*-c conda-forge on-conda fmt$' 'TRIFUSE_FETCH=ON'
# Headers that the compiler finds are enough, and those of modules.
printf '#!/bin/bash\ngrep -q "<hdf5.h>"\n' >"$folder/c++"
chmod +x "$folder/c++"
mkdir -p "$folder/module/CLI"
touch "$folder/module/CLI/CLI.hpp"
environment=(CPATH="/nowhere:$folder/module")
expect "trifuse_need 'module hdf5 hdf5.h|a|on-fedora|a|a' 'module CLI11 CLI/CLI.hpp|a|on-fedora|a|a' 'module fmt fmt/format.h|a|fmt-devel|fmt|a'" \
  '^  dnf install fmt-devel$'
rm "$folder/c++"
environment=(TRIFUSE_FETCH=ON)
expect "$needs" '^  dnf install on-fedora$'
environment=(A=a)
printf '#!/bin/bash\necho 1000\n' >"$folder/id"
ln -s /bin/false "$folder/apt-get"
chmod +x "$folder/id"
expect "$needs" 'apt-get install .* on-debian libfmt-dev$' '^  conda create .*-c conda-forge on-conda fmt$'
# Every line of the lists has five columns.
source "$root/drivers/setup.sh"
for line in "${trifuse_program_needs[@]}" "${trifuse_job_needs[@]}" "${trifuse_mpich_needs[@]}" "${trifuse_test_needs[@]}"; do
  [[ $line == *\|*\|*\|*\|* && $line != *\|*\|*\|*\|*\|* ]] || { echo "Not five columns: $line" >&2; exit 1; }
done
