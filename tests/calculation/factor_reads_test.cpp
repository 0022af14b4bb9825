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
#include "cxx/calculation/context.hpp"
#include "tce_tiles/dump_source.hpp"
#include "tce_tiles/factor_arrays.hpp"
#include "tce_tiles/interruptible_source.hpp"
#include "tce_tiles/source_check.hpp"
#include "tce_tiles/synthetic_source.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/thread_communicator.hpp"

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

/// Number of packed factors of two particles of each spin that has its own factors.
std::map<std::string, std::int64_t> factors_of_particles(bool restricted) {
  if (restricted) return {{"factors_vv", auxiliary * 24 * 25 / 2}};
  return {{"factors_vv_a", auxiliary * 12 * 13 / 2}, {"factors_vv_b", auxiliary * 13 * 14 / 2}};
}

std::unique_ptr<TileSource> counted(const SyntheticMolecule& made_up, Reads& reads) {
  const auto source = make_synthetic_source(made_up);
  DenseInput input = *dense_input_of(*source);
  auto counting = std::make_shared<DenseInput>();
  counting->header = input.header;
  counting->arrays = std::make_shared<CountedArrays>(input.arrays, reads);
  use_factors(*counting);
  return open_input(std::move(counting), made_up.hole_tile, made_up.particle_tile);
}

void check(const TileSource& source, Communicator& communicator) {
  std::unique_ptr<SourceCheck> check;
  run_collectively(&communicator, [&] {
    check = make_source_check(source, source, {communicator.rank(), communicator.size(), 1});
  });
  for (int stage = 0; stage < check->stages(); ++stage) {
    std::vector<double> found;
    run_collectively(&communicator, [&] { found = check->run(stage); });
    communicator.allreduce_sum(found);
    run_collectively(&communicator, [&] { check->accept(stage, found); });
  }
}

CalculationOptions options_of(bool restricted) {
  CalculationOptions options = options_for({}, 8);
  if (!restricted) options.rohf = RohfOrbitals::semicanonical;
  return options;
}

TEST(FactorsOfRanks, ArePassedInBandsAndNotStored) {
  for (const bool restricted : {true, false}) {
    Reads reads_alone;
    const auto alone = counted(molecule(restricted), reads_alone);
    const std::vector<double> expected = numbers_of(calculate(*alone, options_of(restricted)));
    for (const int ranks : {1, 2, 3}) {
      std::atomic<std::int64_t> checked{0}, loaded{0};
      const auto failures = failures_of_ranks(
          ranks,
          [&](Communicator& communicator) {
            Reads reads;
            const auto source = counted(molecule(restricted), reads);
            check(*source, communicator);
            const std::int64_t rank = communicator.rank(), size = communicator.size();
            const std::int64_t functions = auxiliary * (rank + 1) / size - auxiliary * rank / size;
            for (const auto& [name, elements] : factors_of_particles(restricted)) {
              EXPECT_EQ(reads.elements[name], elements / auxiliary * functions) << name;
              checked += reads.elements[name];
              reads.elements[name] = 0;
            }
            CalculationContext calculation(*source, nullptr, options_of(restricted));
            calculation.join(communicator, {});
            EXPECT_EQ(numbers_of(calculation.run()), expected);
            for (const auto& [name, elements] : factors_of_particles(restricted)) {
              EXPECT_EQ(reads.elements[name], elements / auxiliary * functions) << name;
              loaded += reads.elements[name];
              EXPECT_LT(reads.largest_box[name], elements / 2) << name;
            }
          },
          true);
      EXPECT_EQ(failures, std::vector<std::string>(static_cast<std::size_t>(ranks)));
      std::int64_t all = 0;
      for (const auto& [name, elements] : factors_of_particles(restricted)) all += elements;
      EXPECT_EQ(checked, all);
      EXPECT_EQ(loaded, all);
    }
  }
}

TEST(FactorsOfRanks, AreRefusedByAllRanksWithTheSameSentence) {
  for (const int ranks : {1, 2, 3}) {
    for (const bool checks : {true, false}) {
      const auto failures = failures_of_ranks(
          ranks,
          [&](Communicator& communicator) {
            Reads reads;
            reads.change = [](const std::string& name, std::span<double> box) {
              if (name == "factors_vv") box[box.size() / 2] = std::numeric_limits<double>::quiet_NaN();
            };
            const auto source = counted(molecule(true), reads);
            if (checks) check(*source, communicator);
            CalculationContext calculation(*source, nullptr, options_of(true));
            calculation.join(communicator, {});
            calculation.run();
            ADD_FAILURE() << "a rank went on";
          },
          true);
      for (const std::string& failure : failures) {
        EXPECT_NE(failure.find("'factors_vv' holds a value that is not finite"), std::string::npos) << failure;
      }
    }
  }
}

TEST(FactorsOfRanks, AreNotReadFurtherAfterARequestToStop) {
  std::atomic<bool> stop{false};
  Reads reads;
  reads.change = [&](const std::string& name, std::span<double>) { stop = stop || name == "factors_vv"; };
  const auto source = counted(molecule(true), reads);
  const InterruptibleSource interruptible(*source, stop);
  EXPECT_THROW(calculate(interruptible, options_of(true)), Interrupted);
  EXPECT_LT(reads.elements["factors_vv"], factors_of_particles(true)["factors_vv"] / 2);
}

}  // namespace
}  // namespace trifuse
