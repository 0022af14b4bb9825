#!/usr/bin/env bash
# build.sh PYTHON DOXYGEN FOLDER: builds the documentation site in FOLDER/html. Warnings of Doxygen and Sphinx are errors.
set -euo pipefail
python=$1 doxygen=$2 folder=$3
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
mkdir -p "$folder/doxygen"
sed "s|@TRIFUSE_DOXYGEN_OUTPUT@|$folder/doxygen|" drivers/site/Doxyfile.in | "$doxygen" -
TRIFUSE_DOXYGEN_XML=$folder/doxygen/xml PYTHONDONTWRITEBYTECODE=1 \
  "$python" -m sphinx -q -W --keep-going -E -b html -c drivers/site -d "$folder/doctrees" . "$folder/html"
echo "The documentation is in $folder/html/index.html."
