#include "cxx/moments/denominator_tables.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace trifuse::moments {

namespace {

/// Gives a table memory, with zeros.
Result begin(const Terms& terms, OwnedArray& table, std::vector<std::int64_t> extents) {
  table = terms.make(std::move(extents));
  return table.result();
}

}

DenominatorTables::DenominatorTables(const MomentOperands& operands) : closed_shell_(operands.in_.closed_shell) {
  for (const Spin s : both_spins) {
    if (closed_shell_ && s == beta) break;
    add_one_body(operands, s);
    for (const Spin t : both_spins) {
      add_pairs(operands, s, t);
      add_three_body(operands, s, t);
      if (s == t) add_exchange(operands, s);
      for (BySpin<BySpin<OwnedArray>>* const table : {&oo_, &vv_, &ov_, &oov_, &ovv_})
        operands.terms_.finish((*table)[s][t].result());
    }
    operands.terms_.finish(o_[s].result());
    operands.terms_.finish(v_[s].result());
  }
}

void DenominatorTables::add_one_body(const MomentOperands& in, Spin s) {
  const Terms& terms = in.terms_;
  const std::int64_t holes = in.holes(s), particles = in.particles(s);
  const Result o = begin(terms, o_[s], {holes}), v = begin(terms, v_[s], {particles});
  ArrayView of_holes = in.fock(s), of_particles = of_holes;
  of_holes.extents = {holes, holes};
  of_particles.extents = {particles, particles};
  of_particles.first += holes * (of_holes.strides[0] + of_holes.strides[1]);
  const OwnedArray fov = in.fov(s);
  terms.add(o, "ii->i", 1.0, of_holes);
  terms.add(v, "aa->a", 1.0, of_particles);
  for (const Spin r : both_spins) {
    terms.add(o, "meii,me->i", 1.0, in.ovoo(r, s), in.t1(r));
    terms.add(v, "meaa,me->a", 1.0, in.ovvv(r, s), in.t1(r));
  }
  if (!in.in_.antisymmetrised) {
    terms.add(o, "iemi,me->i", -1.0, in.ovoo(s, s), in.t1(s));
    terms.add(v, "maae,me->a", -1.0, in.ovvv(s, s), in.t1(s));
  }
  terms.add(o, "ie,ie->i", 1.0, fov.view(), in.t1(s));
  terms.add(v, "ma,ma->a", -1.0, fov.view(), in.t1(s));
  for (const MomentOperands::Ring& ring : in.rings(s)) {
    // An antisymmetrised integral has each product of equal spins twice.
    const double one = in.own(s, ring.spin);
    terms.add(o, "idle,ilde->i", one, in.ovov(s, ring.spin), ring.x);
    terms.add(v, "lame,lmae->a", -one, in.ovov(s, ring.spin), ring.x);
  }
}

/// All terms of opposite spins, which equal spins have, too.
void DenominatorTables::add_pairs(const MomentOperands& in, Spin s, Spin t) {
  const Terms& terms = in.terms_;
  const Result oo = begin(terms, oo_[s][t], {in.holes(s), in.holes(t)}),
               vv = begin(terms, vv_[s][t], {in.particles(s), in.particles(t)}),
               ov = begin(terms, ov_[s][t], {in.holes(s), in.particles(t)});
  const ArrayView t1 = in.t1(s), t1_of_t = in.t1(t), ovov = in.ovov(s, t);
  const OwnedArray tau = in.tau(s, t, in.own(s, t));
  const bool exchanged = s == t && in.in_.antisymmetrised;  // add_exchange() has the terms of t2 in ov
  terms.add(oo, "iijj->ij", 1.0, in.oooo(s, t));
  terms.add(oo, "ie,iejj->ij", 1.0, t1, in.ovoo(s, t));
  terms.add(oo, "jf,jfii->ij", 1.0, t1_of_t, in.ovoo(t, s));
  terms.add(oo, "iejf,ijef->ij", 1.0, ovov, tau.view());
  terms.add(vv, "ab->ab", 1.0, in.symmetric(&MomentInputs::vvvv_coulomb, s, t, in.shape_vv(s, t), {1, 0}));
  terms.add(vv, "ma,mabb->ab", -1.0, t1, in.ovvv(s, t));
  terms.add(vv, "mb,mbaa->ab", -1.0, t1_of_t, in.ovvv(t, s));
  terms.add(vv, "manb,mnab->ab", 1.0, ovov, tau.view());
  terms.add(ov, "iiaa->ia", -1.0, in.oovv(s, t));
  terms.add(ov, "ie,ieaa->ia", -1.0, t1, in.ovvv(s, t));
  terms.add(ov, "ma,maii->ia", 1.0, t1_of_t, in.ovoo(t, s));
  terms.add(ov, "iema,imea->ia", 1.0, ovov, exchanged ? in.tau(s, t, 0.0).view() : tau.view());
}

/// The terms that only equal spins have.
void DenominatorTables::add_exchange(const MomentOperands& in, Spin s) {
  const Terms& terms = in.terms_;
  const Result oo = oo_[s][s].result(), vv = vv_[s][s].result(), ov = ov_[s][s].result();
  terms.add(vv, "ab->ab", -1.0, ArrayView(in.in_.vvvv_exchange[in.place(s)], in.shape_vv(s, s)));
  for (const MomentOperands::Ring& ring : in.rings(s))
    terms.add(ov, "iame,imae->ia", 1.0, in.ovov(s, ring.spin), ring.x);
  if (in.in_.antisymmetrised) return;
  const ArrayView t1 = in.t1(s), ovoo = in.ovoo(s, s), ovov = in.ovov(s, s), ovvv = in.ovvv(s, s);
  const OwnedArray products = in.tau(s, s, 0.0);  // t1[i,a] t1[j,b]
  terms.add(oo, "ijji->ij", -1.0, in.oooo(s, s));
  terms.add(oo, "je,ieji->ij", -1.0, t1, ovoo);
  terms.add(oo, "if,jfij->ij", -1.0, t1, ovoo);
  terms.add(oo, "iejf,ijfe->ij", -1.0, ovov, products.view());
  terms.add(vv, "ma,mbab->ab", 1.0, t1, ovvv);
  terms.add(vv, "mb,maba->ab", 1.0, t1, ovvv);
  terms.add(vv, "manb,mnba->ab", -1.0, ovov, products.view());
  terms.add(ov, "iaia->ia", 1.0, ovov);
  terms.add(ov, "ie,iaae->ia", 1.0, t1, ovvv);
  terms.add(ov, "ma,iami->ia", -1.0, t1, ovoo);
  terms.add(ov, "iame,imea->ia", -1.0, ovov, products.view());
}

void DenominatorTables::add_three_body(const MomentOperands& in, Spin s, Spin t) {
  const Terms& terms = in.terms_;
  const Result oov = begin(terms, oov_[s][t], {in.holes(s), in.holes(t), in.particles(s)}),
               ovv = begin(terms, ovv_[s][t], {in.holes(s), in.particles(s), in.particles(t)});
  const ArrayView ovov = in.ovov(s, t), x = in.t2(s, t);
  terms.add(oov, "iaje,ijae->ija", 1.0, ovov, x);
  terms.add(ovv, "iamb,imab->iab", -1.0, ovov, x);
  if (s != t || in.in_.antisymmetrised) return;
  terms.add(oov, "ieja,ijae->ija", -1.0, ovov, x);
  terms.add(ovv, "ibma,imab->iab", 1.0, ovov, x);
}

}
