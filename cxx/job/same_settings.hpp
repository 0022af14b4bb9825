#pragma once

#include <span>
#include <string>

#include "cxx/base/communicator.hpp"
#include "cxx/job/job.hpp"

namespace trifuse {

/// A setting that must be the same on all ranks.
struct Setting {
  std::string name;   ///< name of the setting, as the user knows it
  std::string value;  ///< as text; empty if it was not given
};

/// Throws UsageError on all ranks if a setting differs between ranks; the sentence names it. All ranks must have the
/// same names. `may_differ`: names of settings that may differ, for the sentence. Collective.
void expect_same_settings(Communicator& ranks, std::span<const Setting> settings, const std::string& may_differ);

/// Does what expect_same_settings() does, for the options of a job. `two_sided`: true if the job has left amplitudes.
void expect_same_options(Communicator& ranks, const JobOptions& options, bool two_sided);

/// Returns a hash of a text as a number that a double represents exactly.
double number_of_text(const std::string& text);

}
