#include "cxx/contraction/tuned_plans.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/base/stored_texts.hpp"
#include "cxx/contraction/tccg.hpp"
#include "tests/support/environment_variable.hpp"
#include "tests/support/refusals.hpp"
#include "tests/support/temporary_folder.hpp"

namespace trifuse::contraction {
namespace {

using testing::EnvironmentVariable;
using testing::expect_failure;

Contraction form_of(std::size_t number) {
  const TccgContraction& entry = tccg_contractions()[number - 1];
  const TccgLayouts layouts = layouts_of(entry);
  return canonical_form(describe(entry.expression, layouts[A], layouts[B], layouts[C]));
}

/// A folder for tuned plans of the test only.
class TunedPlansFile : public ::testing::Test {
 protected:
  TunedPlansFile() { gpu_.name = "NVIDIA H100 80GB HBM3"; }
  std::string file() const { return tuned_plans(gpu_).file; }
  /// As a tuner finds it.
  Tuning tuning_of(const Contraction& form, std::size_t best) const {
    const std::vector<GpuProgram> programs = candidate_programs(form, gpu_, best + 1);
    return {programs.front(), programs.at(best), 1.1, 1.0, programs.size()};
  }

  testing::TemporaryFolder folder_;
  EnvironmentVariable cache_{"TRIFUSE_CACHE", folder_.path().c_str()};
  GpuModel gpu_;
};

TEST(GpuProgram, EveryCandidateHasItsName) {
  for (const std::size_t number : {1, 12, 14, 19, 31}) {
    const Contraction form = form_of(number);
    const std::vector<GpuProgram> programs = candidate_programs(form, {}, 200);
    EXPECT_EQ(text_of(programs.front()), text_of(program_for_gpu(form, {})));
    std::set<std::string> texts;
    for (std::size_t n = 0; n < programs.size(); ++n) {
      const std::string name = name_of(programs[n]);
      EXPECT_TRUE(texts.insert(name).second) << name;
      EXPECT_GE(programs[n].seconds, programs[n == 0 ? 0 : n - 1].seconds);
      if (n % 10 != 0) continue;  // to save time
      const std::optional<GpuProgram> found = program_of_name(form, {}, name);
      ASSERT_TRUE(found) << name;
      EXPECT_EQ(text_of(*found), text_of(programs[n]));
    }
    for (const std::string& unknown : {std::string(), name_of(programs[0]) + "x", name_of(programs[0]).substr(1),
                                       std::string("packed A, "), std::string("128x128x16 A 1,1")}) {
      EXPECT_FALSE(program_of_name(form, {}, unknown)) << unknown;
    }
  }
}

TEST_F(TunedPlansFile, ChoosesAmongTheCandidates) {
  const Contraction form = form_of(31), other = form_of(32), packed = form_of(14);
  EXPECT_EQ(prepare_tuned_plans(gpu_), "");
  EXPECT_EQ(tuned_plans(gpu_).count, 0);
  const Tuning tuning = tuning_of(form, 5);
  store_tuning(form, gpu_, tuning);
  EXPECT_EQ(tuned_plans(gpu_).count, 1);
  const GpuProgram found = program_of_run(form, gpu_);
  EXPECT_TRUE(found.tuned);
  EXPECT_EQ(text_of(found), "tuned: " + text_of(tuning.best));
  EXPECT_EQ(text_of(program_of_run(other, gpu_)), text_of(program_for_gpu(other, gpu_)));
  // A program that packs has the name of its plan, too.
  Tuning packs = tuning_of(packed, 63);
  for (const GpuProgram& program : candidate_programs(packed, gpu_, 64)) {
    if (program.packing) packs.best = program;
  }
  ASSERT_TRUE(packs.best.packing);
  store_tuning(packed, gpu_, packs);
  EXPECT_EQ(text_of(program_of_run(packed, gpu_)), "tuned: " + text_of(packs.best));
  // Names of indices do not matter, strides do.
  Contraction renamed = form;
  for (Index& index : renamed.indices) index.name = "z" + index.name;
  EXPECT_TRUE(program_of_run(renamed, gpu_).tuned);
  renamed.indices.front().stride[C] *= 2;
  EXPECT_FALSE(program_of_run(renamed, gpu_).tuned);

  // Other GPUs have other files, and a GPU without a name has none.
  GpuModel another = gpu_;
  another.name = "NVIDIA H200";
  EXPECT_FALSE(program_of_run(form, another).tuned);
  EXPECT_FALSE(program_of_run(form, {}).tuned);
  EXPECT_EQ(tuned_plans({}).file, "");

  // A first choice that is as good removes the plan.
  Tuning equal = tuning;
  equal.first_seconds = 1.01;
  store_tuning(form, gpu_, equal);
  EXPECT_FALSE(program_of_run(form, gpu_).tuned);
  EXPECT_EQ(tuned_plans(gpu_).count, 1);
}

TEST_F(TunedPlansFile, IsReadOnceAndByAnyThread) {
  const Contraction form = form_of(31);
  store_tuning(form, gpu_, tuning_of(form, 3));
  std::filesystem::remove(file());
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n) threads.emplace_back([&] { EXPECT_TRUE(program_of_run(form, gpu_).tuned); });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(TunedPlansFile, ThatIsForgedOrDamagedHasNoEffect) {
  const Contraction form = form_of(31);
  const std::string first = text_of(program_for_gpu(form, gpu_));
  store_tuning(form, gpu_, tuning_of(form, 3));
  const std::string name = std::filesystem::path(file()).filename();
  const auto [key, plan] = *read_texts(file()).texts.begin();
  // The first one is in order.
  for (const std::string& text :
       {plan, plan + "1", plan.substr(1), std::string("999x999x999 A 1,1"), std::string("%s%n")}) {
    const testing::TemporaryFolder folder;
    const EnvironmentVariable cache("TRIFUSE_CACHE", folder.path().c_str());
    change_texts(folder.path() / name, {{key, text}});
    EXPECT_EQ(program_of_run(form, gpu_).tuned, text == plan);
    EXPECT_EQ(text_of(program_of_run(form, gpu_)) == first, text != plan);
    EXPECT_EQ(tuned_plans(gpu_).count, 1);
  }
  const testing::TemporaryFolder folder;
  const EnvironmentVariable cache("TRIFUSE_CACHE", folder.path().c_str());
  std::ofstream(folder.path() / name) << "Texts of Trifuse, version 1\n" << key << '\t' << plan << '\n';
  EXPECT_EQ(text_of(program_of_run(form, gpu_)), first);
  EXPECT_EQ(prepare_tuned_plans(gpu_), (folder.path() / name).string() +
                                           " cannot be used: it is damaged. It is replaced, and tuned plans in it are "
                                           "lost.");
  EXPECT_EQ(prepare_tuned_plans(gpu_), "");
}

TEST_F(TunedPlansFile, MayBeTurnedOff) {
  const Contraction form = form_of(31);
  const EnvironmentVariable off("TRIFUSE_CACHE", "");
  EXPECT_TRUE(prepare_tuned_plans(gpu_).starts_with("Tuned plans are not stored")) << prepare_tuned_plans(gpu_);
  store_tuning(form, gpu_, tuning_of(form, 3));
  EXPECT_FALSE(program_of_run(form, gpu_).tuned);
  EXPECT_EQ(tuned_plans(gpu_).file, "");
}

TEST_F(TunedPlansFile, IsWrittenByTheTunerOnly) {
  const Contraction form = form_of(31);
  const EnvironmentVariable forbidden("TRIFUSE_CACHE", "/proc/absent");
  EXPECT_EQ(text_of(program_of_run(form, gpu_)), text_of(program_for_gpu(form, gpu_)));
  expect_failure<SystemError>([&] { prepare_tuned_plans(gpu_); }, "name another folder in TRIFUSE_CACHE");
  expect_failure<SystemError>([&] { store_tuning(form, gpu_, tuning_of(form, 3)); }, "/proc/absent");
}

/// Measures programs on a GPU whose times are made up. The program with the number `best` takes 1 s, the others 2 s,
/// and the first choice `first_seconds`.
class MadeUpGpu {
 public:
  MadeUpGpu(const Contraction& form, const GpuModel& gpu, std::size_t best, double first_seconds)
      : form_(form), gpu_(gpu), best_(best), first_seconds_(first_seconds) {}

  Tuning tune() {
    return contraction::tune(form_, gpu_, [&](const GpuProgram& program, int repeats) {
      const std::string name = name_of(program);
      if (no_memory_for.contains(name)) throw DeviceMemoryError("no memory.");
      runs[name] += repeats;
      const double seconds = name == name_of(number(best_)) ? 1.0 : name == name_of(number(0)) ? first_seconds_ : 2.0;
      std::vector<double> all(static_cast<std::size_t>(repeats), seconds);
      all.front() *= 3.0;  // a disturbance
      return all;
    });
  }
  GpuProgram number(std::size_t n) const { return candidate_programs(form_, gpu_, n + 1).back(); }

  std::set<std::string> no_memory_for;
  std::map<std::string, int> runs;

 private:
  const Contraction& form_;
  const GpuModel& gpu_;
  std::size_t best_;
  double first_seconds_;
};

TEST_F(TunedPlansFile, OfATunerThatFindsTheFastest) {
  const Contraction form = form_of(31);
  MadeUpGpu gpu(form, gpu_, 7, 1.25);
  const Tuning tuning = gpu.tune();
  EXPECT_EQ(text_of(tuning.best), text_of(gpu.number(7)));
  EXPECT_EQ(text_of(tuning.first), text_of(program_for_gpu(form, gpu_)));
  EXPECT_EQ(tuning.first_to_best(), 1.25);
  EXPECT_TRUE(tuning.is_better());
  EXPECT_EQ(tuning.measured, gpu.runs.size());
  EXPECT_LE(tuning.measured, 64);
  EXPECT_GT(tuning.measured, 7);
  int few = 0;
  for (const auto& [name, runs] : gpu.runs) few += runs <= 2 ? 1 : 0;
  EXPECT_EQ(few + 4, std::ssize(gpu.runs)) << "only the best ones are measured often";

  // What is tuned already has no influence.
  store_tuning(form, gpu_, tuning);
  ASSERT_TRUE(program_of_run(form, gpu_).tuned);
  EXPECT_EQ(text_of(MadeUpGpu(form, gpu_, 7, 1.25).tune().first), text_of(tuning.first));

  // A gain of one per cent is noise.
  EXPECT_FALSE(MadeUpGpu(form, gpu_, 7, 1.01).tune().is_better());
  EXPECT_FALSE(MadeUpGpu(form, gpu_, 0, 1.0).tune().is_better());
}

TEST_F(TunedPlansFile, OfATunerWithLittleMemory) {
  const Contraction form = form_of(14);  // the first choice packs an operand
  MadeUpGpu gpu(form, gpu_, 2, 1.5);
  std::size_t fits = 0;
  while (gpu.number(fits).packing) gpu.no_memory_for.insert(name_of(gpu.number(fits++)));
  ASSERT_GT(fits, 0);
  EXPECT_EQ(text_of(gpu.tune().first), text_of(program_for_gpu(form, gpu_, false)));
  MadeUpGpu full(form, gpu_, 2, 1.5);
  for (const GpuProgram& program : candidate_programs(form, gpu_, 64)) full.no_memory_for.insert(name_of(program));
  expect_failure<DeviceMemoryError>([&] { full.tune(); }, "too little free memory");
}

}
}
