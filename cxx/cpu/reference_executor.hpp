#pragma once

#include <memory>

#include "cxx/plan/executor.hpp"
#include "cxx/triples/problem.hpp"

namespace trifuse {

/// Executes tasks of `tiles` by the plain evaluation of `cxx/triples/reference.hpp`. For small molecules.
std::unique_ptr<Executor> make_reference_executor(const Problem& problem, const TileSpace& tiles);

}  // namespace trifuse
