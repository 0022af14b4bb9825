#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/calculation/calculation.hpp"
#include "tce_tiles/checks/source_check.hpp"
#include "tce_tiles/dump_files/dump_source.hpp"
#include "tce_tiles/dump_files/dump_writer.hpp"
#include "tce_tiles/factors/factor_arrays.hpp"
#include "tce_tiles/sources/synthetic_source.hpp"
#include "tce_tiles/tiles/interruptible_source.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/thread_communicator.hpp"
#include "tests/tce_tiles/nwchem_test_data.hpp"

/// What the processes of a job read of the factors of an input, and when.
namespace trifuse {
namespace {

using namespace trifuse::testing;

/// What has been read of the arrays of an input, by name, in elements.
struct Reads {
  std::map<std::string, std::int64_t> elements, largest_box;
  std::function<void(const std::string& name, std::span<double> box)> change = nullptr;  ///< changes what was read
  std::mutex mutex = {};
};

class CountedArray final : public DenseArray {
 public:
  CountedArray(std::shared_ptr<const DenseArray> array, Reads& reads)
      : DenseArray(array->label()), array_(std::move(array)), reads_(reads) {}
  std::span<const std::int64_t> shape() const override { return array_->shape(); }
  bool is_integer() const override { return array_->is_integer(); }
  void read(std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
            std::span<double> out) const override {
    array_->read(offset, count, out);
    const std::lock_guard lock(reads_.mutex);
    reads_.elements[name()] += std::ssize(out);
    reads_.largest_box[name()] = std::max<std::int64_t>(reads_.largest_box[name()], std::ssize(out));
    if (reads_.change) reads_.change(name(), out);
  }

 private:
  std::shared_ptr<const DenseArray> array_;
  Reads& reads_;
};

/// The arrays of an input with factors, without the integrals that they give.
class CountedArrays final : public DenseArrays {
 public:
  CountedArrays(std::shared_ptr<const DenseArrays> arrays, Reads& reads) : arrays_(std::move(arrays)), reads_(reads) {}
  const std::string& path() const override { return arrays_->path(); }
  ArrayWords words() const override { return arrays_->words(); }
  bool has(const std::string& name) const override {
    return arrays_->has(name) && !name.starts_with("ov") && !name.starts_with("oo");
  }
  std::shared_ptr<const DenseArray> array(const std::string& name) const override {
    return std::make_shared<CountedArray>(arrays_->array(name), reads_);
  }

 private:
  std::shared_ptr<const DenseArrays> arrays_;
  Reads& reads_;
};

constexpr std::int64_t auxiliary = 150;

SyntheticMolecule molecule(bool restricted) {
  SyntheticMolecule made_up =
      restricted ? SyntheticMolecule{Reference::rhf, 4, 4, 24, 24} : SyntheticMolecule{Reference::rohf, 3, 2, 12, 13};
  made_up.auxiliary = auxiliary;
  return made_up;
}

/// Number of factors of each array; those of two particles are packed.
std::map<std::string, std::int64_t> stored_factors(bool restricted) {
  std::map<std::string, std::int64_t> all;
  const auto add = [&](const std::string& spin, std::int64_t o, std::int64_t v) {
    all["factors_oo" + spin] = auxiliary * o * o;
    all["factors_ov" + spin] = auxiliary * o * v;
    all["factors_vv" + spin] = auxiliary * v * (v + 1) / 2;
  };
  restricted ? add("", 4, 24) : add("_a", 3, 12);
  if (!restricted) add("_b", 2, 13);
  return all;
}

std::unique_ptr<TileSource> counted(const SyntheticMolecule& made_up, Reads& reads) {
  const auto source = make_synthetic_source(made_up);
  DenseInput input = *dense_input_of(*source);
  auto counting = std::make_shared<DenseInput>();
  counting->header = input.header;
  counting->header.info.amplitudes = AmplitudeKind::ccsd;  // the check evaluates the singles equation, too
  counting->arrays = std::make_shared<CountedArrays>(input.arrays, reads);
  use_factors(*counting);
  return open_dense(std::move(counting), made_up.hole_tile, made_up.particle_tile);
}

/// Checks an input as the program does. Returns what the check has measured.
Measurements check(const TileSource& source, Communicator& communicator, const std::atomic<bool>* stop = nullptr) {
  std::unique_ptr<SourceCheck> check;
  run_collectively(&communicator, [&] {
    check = make_source_check(source, source, {communicator.rank(), communicator.size(), 1, stop});
  });
  for (int stage = 0; stage < check->stages(); ++stage) {
    std::vector<double> found;
    check->read_together(stage, communicator);
    run_collectively(&communicator, [&] { found = check->run(stage); });
    communicator.allreduce_sum(found);
    run_collectively(&communicator, [&] { check->accept(stage, found); });
  }
  return check->measurements();
}

CalculationOptions options_of(bool restricted) {
  CalculationOptions options = options_for({}, 8);
  if (!restricted) options.rohf = RohfOrbitals::semicanonical;
  return options;
}

/// Expects that a rank has read its part of each array `times` times. Adds the numbers read to `all`, and forgets them.
void expect_part(Reads& reads, bool restricted, Communicator& communicator, int times, std::atomic<std::int64_t>& all) {
  const std::int64_t rank = communicator.rank(), size = communicator.size();
  const std::int64_t functions = auxiliary * (rank + 1) / size - auxiliary * rank / size;
  for (const auto& [name, elements] : stored_factors(restricted)) {
    EXPECT_EQ(reads.elements[name], times * elements / auxiliary * functions) << name << " by rank " << rank;
    all += reads.elements[name];
  }
  reads.elements.clear();
}

/// Expects that a check has evaluated the singles equation and found the numbers of another check.
void expect_equation(const Measurements& found, const Measurements& expected) {
  ASSERT_TRUE(found.singles) << found.no_singles_reason;
  ASSERT_TRUE(expected.singles) << expected.no_singles_reason;
  EXPECT_TRUE(found.singles->complete);
  EXPECT_EQ(found.singles->i, expected.singles->i);
  EXPECT_EQ(found.singles->a, expected.singles->a);
  EXPECT_NEAR(found.singles->step, expected.singles->step, 1e-12 * expected.singles->step);
  EXPECT_NEAR(found.singles->along_t1, expected.singles->along_t1, 1e-11 * expected.singles->across_t1);
  EXPECT_NEAR(found.singles->across_t1, expected.singles->across_t1, 1e-12 * expected.singles->across_t1);
}

/// What the check measures if the dump has integrals that were multiplied out from the factors of `source`.
Measurements check_integrals(const TileSource& source) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "integrals.h5").string();
  write_dump(source, path, {.multiply_factors = true});
  const auto dump = open_dump(path, 8, 8);
  const auto check = make_source_check(*dump, *dump);
  for (int stage = 0; stage < check->stages(); ++stage) check->accept(stage, check->run(stage));
  return check->measurements();
}

TEST(FactorsOfRanks, AreReadOnceByAllRanksTogether) {
  for (const bool restricted : {true, false}) {
    Reads reads_alone;
    const auto alone = counted(molecule(restricted), reads_alone);
    const std::vector<double> expected = numbers_of(calculate(*alone, options_of(restricted)));
    const Measurements of_integrals = check_integrals(*alone);
    for (const int ranks : {1, 2, 3, 5}) {
      std::atomic<std::int64_t> checked{0}, loaded{0};
      const auto failures = failures_of_ranks(
          ranks,
          [&](Communicator& communicator) {
            Reads reads;
            const auto source = counted(molecule(restricted), reads);
            expect_equation(check(*source, communicator), of_integrals);
            expect_part(reads, restricted, communicator, 1, checked);
            Calculation calculation(*source, nullptr, options_of(restricted));
            calculation.join(communicator, {});
            EXPECT_EQ(numbers_of(calculation.run()), expected);
            for (const auto& [name, elements] : stored_factors(restricted)) {
              if (!name.starts_with("factors_vv")) continue;
              EXPECT_LT(reads.largest_box[name], elements / 2) << name << " comes in bands";
            }
            expect_part(reads, restricted, communicator, 1, loaded);
          },
          true);
      EXPECT_EQ(failures, std::vector<std::string>(static_cast<std::size_t>(ranks)));
      std::int64_t all = 0;
      for (const auto& [name, elements] : stored_factors(restricted)) all += elements;
      EXPECT_EQ(checked, all);
      EXPECT_EQ(loaded, all);
    }
  }
}

TEST(FactorsOfRanks, AreReadOnceForEachRoundOfTheCheckOfIrreps) {
  SyntheticMolecule made_up = molecule(true);
  made_up.irreps = 2;
  std::map<std::string, std::int64_t> expected = stored_factors(true);
  const std::int64_t factors_vv = expected["factors_vv"];
  for (const int ranks : {1, 2, 3, 5}) {
    std::map<std::string, std::int64_t> all;
    std::mutex mutex;
    const auto failures = failures_of_ranks(
        ranks,
        [&](Communicator& communicator) {
          Reads reads;
          check(*counted(made_up, reads), communicator);
          const std::lock_guard lock(mutex);
          for (const auto& [name, elements] : reads.elements) all[name] += elements;
        },
        true);
    EXPECT_EQ(failures, std::vector<std::string>(static_cast<std::size_t>(ranks)));
    // Each rank stores factors of at most 4 of the 24 particles in a round. They are read once more for the other
    // checks.
    expected["factors_vv"] = ((24 + 4 * ranks - 1) / (4 * ranks) + 1) * factors_vv;
    for (const auto& [name, elements] : expected) EXPECT_EQ(all[name], elements) << name << " by " << ranks << " ranks";
  }
}

TEST(FactorsOfRanks, AreReadOnceMoreForAJournal) {
  const TemporaryFolder folder;
  std::vector<double> expected;
  for (const int ranks : {1, 2, 3, 5}) {
    std::atomic<std::int64_t> loaded{0};
    const auto failures = failures_of_ranks(
        ranks,
        [&](Communicator& communicator) {
          Reads reads;
          const auto source = counted(molecule(true), reads);
          CalculationOptions options = options_of(true);
          // Each number of ranks continues the journal of the one before.
          options.journal = (folder.path() / "journal").string();
          Calculation calculation(*source, nullptr, options);
          calculation.join(communicator, {});
          const CalculationResult result = calculation.run();
          expect_part(reads, true, communicator, 2, loaded);
          EXPECT_EQ(result.tasks_from_journal, ranks == 1 ? 0u : result.tasks);
          if (ranks == 1) expected = numbers_of(result);
          EXPECT_EQ(numbers_of(result), expected);
        },
        true);
    EXPECT_EQ(failures, std::vector<std::string>(static_cast<std::size_t>(ranks)));
  }
}

/// What a job does before a rank fails.
struct FailingJob {
  const char* name;
  bool restricted, checks, journal;
  int irreps = 1;
};

TEST(FactorsOfRanks, AreRefusedByAllRanksWithTheSameSentence) {
  const TemporaryFolder folder;
  const std::string journal = (folder.path() / "journal").string();
  const FailingJob jobs[] = {
      {"check", true, true, false},   {"check", false, true, false},    {"check of irreps", true, true, false, 2},
      {"journal", true, false, true}, {"operands", true, false, false}, {"rotation", false, false, false}};
  for (const auto& [job, restricted, checks, has_journal, irreps] : jobs) {
    SyntheticMolecule made_up = molecule(restricted);
    made_up.irreps = irreps;
    for (const int ranks : {1, 2, 3, 5}) {
      for (const auto& [name, wrong] : stored_factors(restricted)) {
        // The last rank gets a wrong value, or cannot read.
        for (const bool readable : {true, false}) {
          SCOPED_TRACE(std::string(job) + ", " + name + ", " + std::to_string(ranks) + " ranks");
          const auto failures = failures_of_ranks(
              ranks,
              [&, &array = name, &of_job = restricted, &with_check = checks,
               &with_journal = has_journal](Communicator& communicator) {
                Reads reads;
                if (communicator.rank() + 1 == ranks) {
                  reads.change = [&](const std::string& read, std::span<double> box) {
                    if (read != array) return;
                    if (!readable) throw SystemError("The file " + read + " cannot be read.");
                    box[box.size() / 2] = std::numeric_limits<double>::quiet_NaN();
                  };
                }
                const auto source = counted(made_up, reads);
                if (with_check) check(*source, communicator);
                CalculationOptions options = options_of(of_job);
                if (with_journal) options.journal = journal;
                Calculation calculation(*source, nullptr, options);
                calculation.join(communicator, {});
                calculation.run();
                ADD_FAILURE() << "a rank went on";
              },
              true);
          const std::string sentence =
              readable ? "'" + name + "' holds a value that is not finite" : "The file " + name + " cannot be read.";
          const std::string of_last = "Rank " + std::to_string(ranks - 1) + " failed: ";
          for (std::size_t rank = 0; rank < failures.size(); ++rank) {
            EXPECT_NE(failures[rank].find(sentence), std::string::npos) << failures[rank];
            EXPECT_EQ(failures[rank].starts_with(of_last), rank + 1 < failures.size()) << failures[rank];
          }
        }
      }
    }
  }
}

TEST(FactorsOfRanks, AreRefusedIfTheirSizesDiffer) {
  const auto failures = failures_of_ranks(
      3,
      [&](Communicator& communicator) {
        Reads reads;
        SyntheticMolecule made_up = molecule(true);
        if (communicator.rank() == 2) made_up.auxiliary += 1;
        const auto source = counted(made_up, reads);
        Calculation calculation(*source, nullptr, options_of(true));
        calculation.join(communicator, {});
        calculation.run();
        ADD_FAILURE() << "a rank went on";
      },
      true);
  for (const std::string& failure : failures) {
    EXPECT_NE(failure.find("Ranks 0 and 2 have different calculations"), std::string::npos) << failure;
  }
}

TEST(FactorsOfRanks, AreNotReadFurtherAfterARequestToStop) {
  std::atomic<bool> stop{false};
  Reads reads;
  reads.change = [&](const std::string& name, std::span<double>) { stop = stop || name == "factors_vv"; };
  const auto source = counted(molecule(true), reads);
  const InterruptibleSource interruptible(*source, stop);
  EXPECT_THROW(calculate(interruptible, options_of(true)), Interrupted);
  EXPECT_LT(reads.elements["factors_vv"], stored_factors(true)["factors_vv"] / 2);
}

TEST(FactorsOfRanks, AreNotCheckedFurtherIfOneRankStops) {
  for (const bool restricted : {true, false}) {
    for (const auto& [name, count] : stored_factors(restricted)) {
      for (const int ranks : {1, 2, 3, 5}) {
        const auto failures = failures_of_ranks(
            ranks,
            [&, &array = name, of_job = restricted](Communicator& communicator) {
              std::atomic<bool> stop{false};
              Reads reads;
              reads.change = [&](const std::string& read, std::span<double>) {
                stop = stop || (read == array && communicator.rank() + 1 == ranks);
              };
              const auto source = counted(molecule(of_job), reads);
              EXPECT_THROW(check(*source, communicator, &stop), Interrupted);
            },
            true);
        EXPECT_EQ(failures, std::vector<std::string>(static_cast<std::size_t>(ranks)));
      }
    }
  }
}

}
}
