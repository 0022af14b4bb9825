#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tce_tiles/nwchem_files/nwchem_payload.hpp"

namespace trifuse {

/// Returns the prefix of the files of a calculation: `where` itself if it is PATH/prefix, or the only prefix in the
/// directory `where`. Throws InputError if there are no files of amplitudes, or if there are files of several
/// calculations.
std::string find_prefix(const std::string& where);

/// Opens the vector of a tensor: PREFIX.numbered.000000 of `set tce:writet` or `tce:writeint` if it exists, otherwise
/// PREFIX.plain of `set tce:save_t` or `tce:save_integrals`. `numbered` and `plain` are the endings of the names.
/// Returns nullopt if neither file exists. Throws InputError if a set of files is incomplete or damaged.
std::optional<NwchemPayload> open_tensor(const std::string& prefix, const std::string& numbered,
                                         const std::string& plain);

/// Returns the outputs that may belong to the files: PREFIX with one of the usual endings, or otherwise all outputs in
/// the same directory that have a TCE calculation.
std::vector<std::string> find_outputs(const std::string& prefix);

/// Returns PREFIX.movecs, or an empty string if there is no such file.
std::string find_movecs(const std::string& prefix);

/// Returns all files that NWChem reads or writes under this prefix, also files that a run does not need:
/// PREFIX.t1amp.000000, PREFIX.movecs, PREFIX.out, ...
std::vector<std::string> files_of_nwchem(const std::string& prefix);

}
