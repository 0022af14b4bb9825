#pragma once

#include <memory>
#include <span>

#include "cxx/triples/problem.hpp"

namespace trifuse {

/// The plain evaluation that everything else is compared with: dense arrays over spin orbitals, one element at a time,
/// the formulas as they stand in the literature, no shared machinery but the table of terms. For small molecules;
/// memory grows as o v^3 over spin orbitals and time as o^3 v^3 (o + v) at scalar speed.
class ReferenceEvaluation {
 public:
  /// Reads all amplitudes and integrals. Tasks are those of `tiles`.
  ReferenceEvaluation(const Problem& problem, const TileSpace& tiles);
  ~ReferenceEvaluation();

  /// Writes the energies of a task, one entry per omega2 of the problem. Any thread may call it.
  void evaluate(const Task& task, std::span<TaskEnergy> energies) const;

 private:
  class Elements;
  std::unique_ptr<const Elements> elements_;
};

}  // namespace trifuse
