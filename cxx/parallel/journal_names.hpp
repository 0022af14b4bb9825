#pragma once

#include <map>
#include <string>

namespace trifuse {

/// Ends the name of a file with the sums of a rank, see stored_sums.hpp.
inline constexpr const char* ending_of_sums = ".sums";

/// Returns the file of a rank: the name of a journal, ".rank<n>" for a rank above 0, and `ending`.
std::string journal_file_of_rank(const std::string& journal, int rank, const std::string& ending = "");

/// Returns the rank that writes a file; 0 if no rank above 0 does. `name`, `journal`: names without folder.
int rank_in_journal_name(const std::string& name, const std::string& journal, const std::string& ending = "");

/// Returns the files of a journal with this ending that this process sees, by the number of the rank that wrote them.
std::map<int, std::string> journal_files(const std::string& journal, const std::string& ending = "");

}
