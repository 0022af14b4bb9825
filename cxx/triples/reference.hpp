#pragma once

#include <memory>
#include <span>

#include "cxx/triples/problem.hpp"

#pragma GCC visibility push(default)

namespace trifuse {

/// A simple evaluation of the energies. Tests compare all executors with it. It stores dense arrays over spin orbitals,
/// evaluates the formulas of the literature one element at a time, and shares only the table of terms with the
/// executors. It is for small molecules: with o occupied and v virtual spin orbitals memory grows as o v^3 and time as
/// o^3 v^3 (o + v).
class ReferenceEvaluation {
 public:
  /// Reads all amplitudes and integrals. `tiles`: the tile space of the tasks. Passes on exceptions of the sources.
  ReferenceEvaluation(const Problem& problem, const TileSpace& tiles);
  ~ReferenceEvaluation();

  /// Writes the energies of a task, energies[omega2], one entry for each omega2 of the problem, hartree. Any thread may
  /// call it.
  void evaluate(const Task& task, std::span<TaskEnergy> energies) const;

 private:
  class Elements;
  std::unique_ptr<const Elements> elements_;
};

}

#pragma GCC visibility pop
