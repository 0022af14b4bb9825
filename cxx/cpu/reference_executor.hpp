#pragma once

#include <memory>

#include "cxx/plan/executor.hpp"
#include "cxx/triples/problem.hpp"

#pragma GCC visibility push(default)

namespace trifuse {

/// Makes an executor that uses the simple evaluation of `cxx/triples/reference.hpp`. For small molecules. `tiles`: tile
/// space of the tasks. Reads all operands and throws what the sources of `problem` throw.
std::unique_ptr<Executor> make_reference_executor(const Problem& problem, const TileSpace& tiles);

}

#pragma GCC visibility pop
