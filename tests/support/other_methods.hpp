#pragma once

#include "cxx/triples/method.hpp"

/// Triples methods that exist only in tests. They consist of descriptions only.
namespace trifuse::testing {

/// The method (T) with half of the disconnected triples.
inline constexpr Method half_disconnected{"half-CCSD(T)", "half-(T)", {{OvTensor::t1, VvooTensor::v2, 0.5}}};
/// The method (T) with both sets, in the other order and with weights of different signs.
inline constexpr Method weighted_with_fock{
    "weighted CCSD(T)", "weighted (T)", {{OvTensor::f_ov, VvooTensor::t2, -0.75}, {OvTensor::t1, VvooTensor::v2, 1.5}}};
/// A method with S = t1 t2, the disconnected triples of the CCSD wave function, as in the denominators of CR-CCSD(T).
inline constexpr Method product_of_amplitudes{"t1t2-CCSD(T)", "t1t2-(T)", {{OvTensor::t1, VvooTensor::t2}}};

inline constexpr Method other_methods[] = {half_disconnected, weighted_with_fock, product_of_amplitudes};

}
