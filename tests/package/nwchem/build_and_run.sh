#!/usr/bin/env bash
# build_and_run.sh FOLDER SOURCE LIBRARY_FOLDER DATA_FOLDER: links a Fortran program with libtrifuse_nwchem as NWChem is, and runs it.
set -euo pipefail

folder=$1 source=$2 libraries=$3 data=$4
mkdir -p "$folder"
"${FC:-gfortran}" -fdefault-integer-8 -o "$folder/program" "$source" "-L$libraries" -ltrifuse_nwchem "-Wl,-rpath,$libraries"
"$folder/program"

# All else stays inside: NWChem has names of its own.
others=$(nm -D --defined-only "$libraries/libtrifuse_nwchem.so" | awk '{ print $3 }' |
  grep -vE '^(sd_t_(s1|d1|d2)_[1-9]_cuda_|compute_en_|dev_mem_[sd]_|dev_release_|(init|finalize)memmodule_|check_device_|device_init_|trifuse_nwchem_(triples|expect_defaults))$' || true)
if [[ -n $others ]]; then
  printf 'libtrifuse_nwchem.so shows names that it should not:\n%s\n' "$others" >&2
  exit 1
fi

# What users copy into NWChem.
for file in ccsd_t_gpu.F 64_to_32.sed; do
  if [[ ! -s $data/$file ]]; then
    printf '%s was not installed.\n' "$data/$file" >&2
    exit 1
  fi
done
