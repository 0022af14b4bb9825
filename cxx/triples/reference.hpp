#pragma once

#include <memory>

#include "cxx/triples/executor.hpp"
#include "cxx/triples/problem.hpp"

namespace trifuse {

/// The plain evaluation that everything else is compared with: dense arrays over spin orbitals, one element at a time,
/// the formulas as they stand in the literature, no shared machinery but the table of terms. For small molecules;
/// memory grows as o v^3 over spin orbitals and time as o^3 v^3 (o + v) at scalar speed. Tasks are those of `tiles`.
std::unique_ptr<Executor> make_reference_executor(const Problem& problem, const TileSpace& tiles);

}  // namespace trifuse
