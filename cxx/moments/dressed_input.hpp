#pragma once

#include <memory>

#include "cxx/moments/tensors.hpp"
#include "tce_tiles/dense/dense_input.hpp"

/// Inputs whose integrals are dressed with amplitudes. Sources of them take the place of sources of the bare ones.
namespace trifuse::moments {

/// Returns `input` with the integrals of the right side, ovvv and ovoo, which t2 is multiplied by: moments of CCSD. The
/// other arrays are those of `input`, which are read when they are used.
///
/// Needs oooo, ovoo, oovv, ovov, ovvv, kvvv, t1, t2 and the Fock matrix. Reads all of them except kvvv at once; kvvv is
/// read to the place of the new ovvv. `threads`: at least 1. `contract`: computes the contractions. Throws InputError
/// if an array is absent or cannot be read, std::bad_alloc, and what `contract` throws.
std::shared_ptr<DenseInput> right_input(const DenseInput& input, int threads, const Contract& contract);

/// Returns `input` with the integrals of the left side, which Lambda2 is multiplied by: ovvv, ovoo, and the occupied
/// and virtual part of the Fock matrix. Needs ovoo, ovov, ovvv, t1, t2 and the Fock matrix; else as right_input().
std::shared_ptr<DenseInput> left_input(const DenseInput& input, int threads, const Contract& contract);

/// Returns `input` with c2 in the place of t2. The disconnected triples t1 c2 of a source of it are C3, the triples of
/// exp(T1 + T2), see Problem::disconnected. Needs t1, t2 and the Fock matrix; else as right_input().
std::shared_ptr<DenseInput> disconnected_input(const DenseInput& input, int threads, const Contract& contract);

}
