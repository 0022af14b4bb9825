#!/usr/bin/env bash
# build_and_run.sh FOLDER: compiles ../consumer.cpp with what pkg-config says of trifuse, in FOLDER, and runs it.
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)/consumer.cpp
mkdir -p "$1"
cd "$1"
flags=()
# As a make rule would: the shell takes back the backslashes before special characters of the path.
eval "flags=($("${PKG_CONFIG:-pkg-config}" --cflags --libs trifuse))"
"${CXX:-g++}" -std=c++20 -o consumer "$source" "${flags[@]}"
exec ./consumer
