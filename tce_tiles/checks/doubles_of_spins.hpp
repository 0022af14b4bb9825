#pragma once

#include <atomic>

#include "tce_tiles/checks/doubles_residual.hpp"
#include "tce_tiles/dense/dense_input.hpp"

/// The CCSD equation of the double excitations of two spins. See doubles_equation.hpp for a closed shell.
///
/// i, a, k, c have the spin s; j, b, l, d the spin t; m, n, e, f that of the orbitals beside them; h is 1/2 for s = t,
/// else 1. [pq|rs] are integrals that are dressed with t1. With sums over repeated indices, and over spins q and r:
///
///   R_ij^ab = (ia|jb) + P G_ij^ab;   s = t: (ia|jb) + P G minus the same with a and b exchanged;   plus ladder_ij^ab
///   P: plus the same with (i,a) and (j,b), and their spins, exchanged
///   G_ij^ab = t_j^f { (ia|bf) + 1/2 K[i,a,b,f] } - t_m^a { X(jb,mi) + h (mc|bd) t_ij^cd }
///           + 1/2 P(ki,lj) { h t_kl^ab + t_k^a t_l^b } + h { t_ij^ac F_bc - t_il^ab F_lj }
///           + t_ik^ac(s,r) W(kc,jb)(r,t);   s != t: - t_il^cb { [lj|ac] - 1/2 (ld|kc) t_kj^ad }
///   J(me,kj) = (me|kj) + t_j^f (me|kf),   Z(ki,bf) = (ki|bf) + t_i^e (ke|bf),   X(jb,mi) = J(jb,mi) + t_j^f Z(mi,bf)
///   P(ki,lj) = (ki|lj) + t_i^e (ke|lj) + t_j^f J(lf,ki) + h (kc|ld) t_ij^cd
///   [ki|bd]  = Z(ki,bd) - t_n^b J(nd,ki)
///   W(kc,jb)(r,t) = (kc|jb) + t_j^f (kc|bf) - t_n^b J(kc,nj) - { r = t: [kj|bc] } + 1/2 L(kc,ld)(r,q) t_jl^bd(t,q)
///   L(kc,ld)(r,q) = (kc|ld) - { r = q: (kd|lc) },   F_me = f_me + L(me,nf) t_n^f
///   F_bc = f_bc + omega2 d_bc - t_m^b F_mc + (ne|bc) t_n^e - { equal spins: (nc|be) t_n^e } - (kc|ld) t_kl^bd
///   F_kj = f_kj + f_ke t_j^e + J(me,kj) t_m^e - { equal spins: J(ke,mj) t_m^e } + (kc|ld) t_jl^cd
namespace trifuse {

/// Evaluates the equation for an unrestricted input whose integrals are not antisymmetrised. It takes about 50 o^3 v^3
/// operations and memory for 28 arrays of o^2 v^2 numbers. Parameters and exceptions: as of doubles_residual().
DoublesResidual doubles_residual_of_spins(const DenseInput& input, int threads, const std::atomic<bool>* stop);

}
