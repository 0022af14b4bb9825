#include "drivers/outputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "cxx/base/error.hpp"
#include "cxx/base/terminal.hpp"
#include "cxx/parallel/journal.hpp"
#include "cxx/parallel/journal_file.hpp"
#include "cxx/report/report.hpp"

namespace trifuse::cli {

namespace {

/// Limit for the size of a report, bytes. No report of Trifuse is larger. A larger file is not read.
constexpr std::uintmax_t largest_report = std::uintmax_t{1} << 28;

bool is_earlier_report(const std::string& path, const std::string& command) {
  std::error_code error;
  if (std::filesystem::file_size(path, error) > largest_report || error) return false;
  std::ifstream file(path, std::ios::binary);
  nlohmann::json report;
  try {
    report = nlohmann::json::parse(file, nullptr, false);
  } catch (const std::ios_base::failure&) {  // of its buffer: the file cannot be read
    return false;
  }
  if (!report.is_object()) return false;
  const auto holds = [&](const char* name, const nlohmann::json& value) {
    const auto found = report.find(name);
    return found != report.end() && *found == value;
  };
  return holds("program", "trifuse") && holds("report", command) && report.contains("schema_version");
}

bool begins_with(const std::string& path, const std::string& expected) {
  std::ifstream file(path, std::ios::binary);
  std::string beginning(expected.size(), '\0');
  return file.read(beginning.data(), static_cast<std::streamsize>(beginning.size())) && beginning == expected;
}

std::string kept_unless(const std::string& kind, const std::string& cure) {
  return fmt::format("this file exists already and is not an earlier {}; {}, or give --overwrite to replace it", kind,
                     cure);
}

}

void Outputs::protect_input(const std::string& path) {
  if (path.empty()) return;
  inputs_.push_back(path);
  check_all();
}

void Outputs::protect_inputs(const TileSource& source) {
  const std::vector<std::string>& files = source.info().files;
  inputs_.insert(inputs_.end(), files.begin(), files.end());
  check_all();
}

void Outputs::protect_journal(const std::string& path) {
  if (path.empty()) return;
  journals_.push_back(path);
  check_all();
}

OutputRules Outputs::add(const std::string& option, const std::string& path) {
  refuse_protected(path, option);
  for (const auto& [other_option, other] : outputs_) {
    if (!lead_to_same_file(path, other)) continue;
    throw UsageError(
        fmt::format("{} and {} name the same file {}; give two different files.", other_option, option, path));
  }
  outputs_.emplace_back(option, path);
  OutputRules rules;
  rules.cure = fmt::format("give another {} file", option);
  rules.overwrite = overwrite_;
  rules.refuse = [this, option](const std::string& file) { refuse_protected(file, option); };
  return rules;
}

void Outputs::check_all() const {
  for (const auto& [option, path] : outputs_) refuse_protected(path, option);
}

void Outputs::refuse_protected(const std::string& path, const std::string& option) const {
  const auto refuse = [&](const char* what) {
    throw UsageError(
        fmt::format("{}: this file is {} and is never overwritten; give another {} file.", path, what, option));
  };
  const auto is_output = [&](const std::string& file) { return lead_to_same_file(path, file); };
  if (std::any_of(inputs_.begin(), inputs_.end(), is_output)) refuse("an input of this command");
  const auto is_journal_of = [&](const std::string& journal) {
    return is_output(journal) || Journal::is_file_of_rank(journal, path);
  };
  if (std::any_of(journals_.begin(), journals_.end(), is_journal_of)) refuse("the journal of this run");
  if (JournalFile::is_journal(path)) refuse("a journal");
}

ReportFile::ReportFile(Outputs& outputs, const std::string& path, std::string command)
    : command_(std::move(command)), on_standard_output_(is_standard_output(path)) {
  if (path.empty() || on_standard_output_) return;
  OutputRules rules = outputs.add("--json", path);
  rules.kept = kept_unless(fmt::format("report of `trifuse {}`", command_), rules.cure);
  rules.is_earlier = [command = command_](const std::string& file) { return is_earlier_report(file, command); };
  file_ = std::make_unique<OutputFile>(path, std::move(rules));
}

void ReportFile::write(const nlohmann::ordered_json& content) {
  if (on_standard_output_) write_output(report_text(command_, content));
  if (!file_) return;
  file_->write(report_text(command_, content));
  file_->finish();
}

TextFile::TextFile(Outputs& outputs, const std::string& option, const std::string& path, const std::string& kind,
                   std::string_view beginning) {
  if (path.empty()) return;
  OutputRules rules = outputs.add(option, path);
  rules.kept = kept_unless(kind, rules.cure);
  rules.is_earlier = [beginning = std::string(beginning)](const std::string& file) {
    return begins_with(file, beginning);
  };
  file_ = std::make_unique<OutputFile>(path, std::move(rules));
}

void TextFile::write(const std::function<std::string()>& text) {
  if (!file_) return;
  file_->write(text());
  file_->finish();
}

}
