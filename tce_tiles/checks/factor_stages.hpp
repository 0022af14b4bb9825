#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cxx/base/communicator.hpp"
#include "tce_tiles/checks/dense_check.hpp"
#include "tce_tiles/checks/factor_check.hpp"
#include "tce_tiles/checks/factor_irreps.hpp"
#include "tce_tiles/checks/singles_equation.hpp"
#include "tce_tiles/dense/dense_input.hpp"

namespace trifuse {

/// The part of the check of an input that reads factors, stage by stage. The order of calls is that of SourceCheck.
class FactorStages {
 public:
  /// The stages of make_dense_check(): factors of holes are read and checked; FactorIrreps; the other uses of the
  /// factors of two particles, FactorCheck and the singles equation.
  static constexpr int holes = 0, irreps = 1, particles = 2;

  /// `checked`: the input whose factors are checked, or null. `tested`: the input with whose integrals `singles` is
  /// evaluated; both are null if no equation is evaluated. All must outlive this object.
  FactorStages(const DenseInput* checked, const DenseInput* tested, SinglesEquation* singles, const DenseCheck& check);

  /// See SourceCheck::read_together().
  void read_together(int stage, Communicator& communicator);
  /// Does the share of this process in a stage, on at most `threads` threads. Returns the sums of FactorCheck in the
  /// last stage, else nothing. Exceptions: see FactorCheck and FactorIrreps.
  std::vector<double> run(int stage, int threads);
  /// Takes the sums of a stage. `sums` begins with those that run() has returned on all processes. Returns the rest.
  std::span<const double> accept(int stage, std::span<const double> sums) const;

 private:
  /// Takes the factors of holes into memory and keeps them there. Collective if `communicator` is not null.
  void hold(Communicator* communicator);
  std::vector<double> visit_particles(int threads);

  const DenseInput *checked_, *tested_;
  SinglesEquation* singles_;
  const DenseCheck share_;
  std::vector<std::shared_ptr<const void>> held_;  ///< keeps the factors of holes in memory
  std::optional<FactorCheck> check_;
  std::optional<FactorIrreps> irreps_;
};

}
