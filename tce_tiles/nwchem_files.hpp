#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tce_tiles/nwchem_payload.hpp"

namespace trifuse {

/// The prefix of the files at `where`: `where` itself if it is PATH/prefix, or the only prefix found in the directory
/// `where`. Throws InputError if there are no files of amplitudes, or those of several calculations.
std::string find_prefix(const std::string& where);

/// Opens the vector written by `set tce:writet` or `tce:writeint` (PREFIX.numbered.000000), or else the one of `set
/// tce:save_t` or `tce:save_integrals` (PREFIX.plain); nullopt if neither is there.
std::optional<NwchemPayload> open_tensor(const std::string& prefix, const std::string& numbered,
                                         const std::string& plain);

/// Outputs that may belong to the files: PREFIX with one of the usual endings, or else the outputs in the same
/// directory, as far as they have a TCE calculation.
std::vector<std::string> find_outputs(const std::string& prefix);

/// PREFIX.movecs, or an empty string.
std::string find_movecs(const std::string& prefix);

/// All files that NWChem reads or writes under this prefix, also those that a run does without: PREFIX.t1amp.000000,
/// PREFIX.movecs, PREFIX.out, ...
std::vector<std::string> files_of_nwchem(const std::string& prefix);

}  // namespace trifuse
