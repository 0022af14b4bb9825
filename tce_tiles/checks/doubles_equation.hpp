#pragma once

#include <atomic>
#include <string>

#include "tce_tiles/checks/doubles_residual.hpp"
#include "tce_tiles/dense/dense_input.hpp"

/// The CCSD equation of the double excitations, as a test of the arrays for dressed moments. The formulas below are
/// those of a closed shell; those of two spins are in doubles_of_spins.hpp.
///
/// The residual R_ij^ab of converged amplitudes is zero. All classes of integrals contribute to it. The integrals of
/// four virtual orbitals are in `ladder` and `kvvv`. With u_ij^ab = 2 t_ij^ab - t_ij^ba, L(kc,ld) = 2 (kc|ld) - (kd|lc)
/// and sums over repeated indices:
///
///   R_ij^ab = (ia|jb) + ladder_ij^ab + P { G_ij^ab - 1/2 c_ij^ab - c_ji^ab },   P: plus the same with (i,a) and (j,b)
///                                                                             exchanged
///   G_ij^ab = t_j^f { (ia|bf) + 1/2 K[i,a,b,f] } - t_m^a X(jb,mi)
///           + t_m^a { 1/2 P(mi,nj) t_n^b - (mc|bd) t_ij^cd } + 1/2 P(ki,lj) t_kl^ab
///           + 1/2 u_jk^bc { 2 [ai|kc] - [ki|ac] + 1/2 u_il^ad L(ld,kc) } + t_ij^ac F_bc - t_ik^ab F_kj
///   c_ij^ab = t_kj^bc { [ki|ac] - 1/2 t_li^ad (kd|lc) }
///   J(me,kj)  = (me|kj) + t_j^f (me|kf)
///   P(ki,lj)  = (ki|lj) + t_i^e (ke|lj) + t_j^f J(lf,ki) + (kc|ld) t_ij^cd
///   Z(ki,bf)  = (ki|bf) + t_i^e (ke|bf)
///   X(jb,ki)  = J(jb,ki) + t_j^f Z(ki,bf)
///   [ki|ac]   = Z(ki,ac) - t_m^a J(mc,ki)
///   [ai|kc]   = (ai|kc) + t_i^e (ae|kc) - t_m^a J(kc,mi)
///   F_me = f_me + L(me,nf) t_n^f
///   F_bc = f_bc + omega2 d_bc - t_m^b F_mc + t_n^e { 2 (ne|bc) - (nc|be) } - u_kl^bd (ld|kc)
///   F_kj = f_kj + f_ke t_j^e + t_m^e { 2 J(me,kj) - J(ke,mj) } + u_lj^cd (kd|lc)
namespace trifuse {

/// Returns why the equation cannot be evaluated for an input that has arrays for dressed moments; empty if it can.
std::string no_doubles_equation(const DenseInput& input);

/// Evaluates the equation. For a closed shell it takes about 10 o^3 v^3 operations and memory for 10 arrays of o^2 v^2
/// numbers.
/// no_doubles_equation() must be empty. `threads`: largest number of threads, at least 1. Throws Interrupted soon after
/// `stop`, which may be null, becomes true; InputError if an array cannot be read; std::bad_alloc.
DoublesResidual doubles_residual(const DenseInput& input, int threads, const std::atomic<bool>* stop);

}
