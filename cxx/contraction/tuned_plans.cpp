#include "cxx/contraction/tuned_plans.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "cxx/base/error.hpp"
#include "cxx/base/median.hpp"
#include "cxx/base/stored_texts.hpp"
#include "trifuse_config.hpp"

namespace trifuse::contraction {

namespace {

using Texts = std::map<std::string, std::string>;

/// The contents of all files that this process has used. Its functions may be called by several threads.
class Files {
 public:
  std::size_t count(const std::string& path) {
    const std::lock_guard lock(mutex_);
    return texts(path).size();
  }
  /// Returns the text of a key; an empty one if the file does not have it.
  std::string find(const std::string& path, const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = texts(path).find(key);
    return found == texts(path).end() ? "" : found->second;
  }
  std::string change(const std::string& path, const Texts& changes) {
    const std::lock_guard lock(mutex_);
    StoredTexts stored = change_texts(path, changes);
    files_[path] = std::move(stored.texts);
    return stored.damage;
  }

 private:
  const Texts& texts(const std::string& path) {
    const auto known = files_.find(path);
    return known != files_.end() ? known->second : files_.emplace(path, read_texts(path).texts).first->second;
  }

  std::mutex mutex_;
  std::map<std::string, Texts> files_;  ///< by path
};

Files& files() {
  static Files* const all = new Files;  // threads may still plan when the program ends
  return *all;
}

std::string file_of(const GpuModel& gpu) {
  const std::string folder = gpu.name.empty() ? "" : cache_folder();
  if (folder.empty()) return {};
  std::string name = gpu.name;
  const auto plain = [](char x) { return (x >= '0' && x <= '9') || (x >= 'A' && x <= 'Z') || (x >= 'a' && x <= 'z'); };
  std::replace_if(
      name.begin(), name.end(), [&](char letter) { return !plain(letter); }, '-');
  return fmt::format("{}/contractions-{}-{}.txt", folder, name, version);
}

/// Returns a text that is the same for contractions that differ in the names of their indices only.
std::string key_of(const Contraction& contraction) {
  std::string key;
  for (const Index& index : contraction.indices) {
    key += fmt::format("{}{}{}:{},{},{}", key.empty() ? "" : " ", "xabk"[static_cast<std::size_t>(index.index_class)],
                       index.extent, index.stride[A], index.stride[B], index.stride[C]);
  }
  return key.empty() ? "product of two numbers" : key;
}

/// Measurements of one program.
struct Measured {
  std::size_t number;  ///< in the list of programs
  std::vector<double> seconds;

  double least() const { return *std::min_element(seconds.begin(), seconds.end()); }
  double middle() const { return median(seconds); }
};

}

TunedPlans tuned_plans(const GpuModel& gpu) {
  const std::string file = file_of(gpu);
  return {file, file.empty() ? 0 : files().count(file)};
}

GpuProgram program_of_run(const Contraction& contraction, const GpuModel& gpu) {
  const std::string file = file_of(gpu), name = file.empty() ? "" : files().find(file, key_of(contraction));
  std::optional<GpuProgram> tuned;
  if (!name.empty()) tuned = program_of_name(contraction, gpu, name);
  if (!tuned) return program_for_gpu(contraction, gpu);
  tuned->tuned = true;
  return std::move(*tuned);
}

Tuning tune(const Contraction& contraction, const GpuModel& gpu, const MeasureProgram& measure) {
  constexpr std::size_t most = 64, finalists = 3;
  constexpr double longest = 2.0;  // predicted time divided by that of the first choice
  constexpr int quick_repeats = 2, rounds = 3, repeats_of_round = 3;
  const std::vector<GpuProgram> programs = candidate_programs(contraction, gpu, most);
  std::vector<Measured> all;
  for (std::size_t n = 0; n < programs.size() && programs[n].seconds <= longest * programs[0].seconds; ++n) {
    try {
      all.push_back({n, measure(programs[n], quick_repeats)});
    } catch (const DeviceMemoryError&) {
      continue;  // it needs memory for a packed operand or for partial sums
    }
  }
  if (all.empty()) throw DeviceMemoryError("The GPU has too little free memory for every plan of a contraction.");
  const std::size_t measured = all.size();
  // The first choice stays in front.
  std::stable_sort(all.begin() + 1, all.end(),
                   [](const Measured& x, const Measured& y) { return x.least() < y.least(); });
  all.resize(std::min(measured, 1 + finalists));
  for (Measured& each : all) each.seconds.clear();
  // In turns, because the speed of the GPU drifts.
  for (int round = 0; round < rounds; ++round) {
    for (Measured& each : all) {
      for (const double seconds : measure(programs[each.number], repeats_of_round)) each.seconds.push_back(seconds);
    }
  }
  const auto best = std::min_element(all.begin(), all.end(),
                                     [](const Measured& x, const Measured& y) { return x.middle() < y.middle(); });
  return {programs[all.front().number], programs[best->number], all.front().middle(), best->middle(), measured};
}

std::string prepare_tuned_plans(const GpuModel& gpu) {
  const std::string file = file_of(gpu);
  if (file.empty()) return "Tuned plans are not stored, because TRIFUSE_CACHE is empty or HOME names no folder.";
  const std::string damage = files().change(file, {});
  return damage.empty() ? damage : fmt::format("{} It is replaced, and tuned plans in it are lost.", damage);
}

void store_tuning(const Contraction& contraction, const GpuModel& gpu, const Tuning& tuning) {
  const std::string file = file_of(gpu);
  if (!file.empty()) files().change(file, {{key_of(contraction), tuning.is_better() ? name_of(tuning.best) : ""}});
}

}
