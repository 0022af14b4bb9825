#include "cxx/moments/moment_operands.hpp"

#include <algorithm>
#include <utility>

namespace trifuse::moments {

namespace {

/// Half of a term that is antisymmetric already is added before results of equal spins are antisymmetrised.
double half_if_equal(Spin s, Spin t) {
  return s == t ? 0.5 : 1.0;
}

}

MomentOperands::MomentOperands(const MomentInputs& inputs, int threads, Contract contract)
    : in_(inputs), terms_(std::move(contract), threads) {
  if (!in_.closed_shell) return;
  const ArrayView t = t2(alpha, beta);
  same_ = terms_.make(t.extents);
  terms_.add(same_.result(), "ijab->ijab", 1.0, t);
  terms_.add(same_.result(), "ijba->ijab", -1.0, t);
  u_ = terms_.make(t.extents);
  terms_.add(u_.result(), "ijab->ijab", 1.0, t);
  terms_.add(u_.result(), "ijab->ijab", 1.0, same_.view());
}

const double* MomentOperands::block(Blocks blocks, Spin s, Spin t) const {
  return in_.closed_shell ? (in_.*blocks)[alpha][beta] : (in_.*blocks)[s][t];
}

ArrayView MomentOperands::symmetric(Blocks blocks, Spin s, Spin t, std::vector<std::int64_t> shape,
                                    const std::vector<std::size_t>& exchange) const {
  if (s <= t) return {block(blocks, s, t), std::move(shape)};
  const ArrayView exchanged = ArrayView(nullptr, std::move(shape)).with_axes(exchange);
  return ArrayView(block(blocks, t, s), exchanged.extents).with_axes(exchange);
}

ArrayView MomentOperands::t2(Spin s, Spin t) const {
  if (in_.closed_shell && s == t) return same_.view();
  return symmetric(&MomentInputs::t2, s, t, shape_t2(s, t), {1, 0, 3, 2});
}

ArrayView MomentOperands::oooo(Spin s, Spin t) const {
  return symmetric(&MomentInputs::oooo, s, t, shape_oooo(s, t), {2, 3, 0, 1});
}

ArrayView MomentOperands::ovov(Spin s, Spin t) const {
  return symmetric(&MomentInputs::ovov, s, t, shape_ovov(s, t), {2, 3, 0, 1});
}

MomentOperands::Signed MomentOperands::mixed_ovov(Spin s, Spin t) const {
  if (s == t && in_.antisymmetrised) return {-own(s, t), oovv(s, t).with_axes({0, 3, 1, 2})};
  return {1.0, ovov(s, t)};
}

ArrayView MomentOperands::fock(Spin s) const {
  const std::int64_t orbitals = holes(s) + particles(s);
  return {in_.fock[place(s)], {orbitals, orbitals}};
}

ArrayView MomentOperands::ooov(Spin s, Spin t) {
  OwnedArray& x = ooov_[place(s)][place(t)];
  if (!x.exists()) {
    x = terms_.make({holes(s), holes(s), holes(t), particles(t)});
    terms_.add(x.result(), "mdlj->ljmd", 1.0, ovoo(t, s));
    terms_.add(x.result(), "je,lemd->ljmd", 1.0, t1(s), ovov(s, t));
  }
  return x.view();
}

std::vector<MomentOperands::Ring> MomentOperands::rings(Spin s) const {
  if (in_.closed_shell) return {{u_.view(), beta}};  // both spins of l, e at once
  return {{t2(s, alpha), alpha}, {t2(s, beta), beta}};
}

OwnedArray MomentOperands::fov(Spin s) const {
  OwnedArray f = terms_.make({holes(s), particles(s)});
  hbar_fov(s, f.result().first);
  return f;
}

OwnedArray MomentOperands::tau(Spin s, Spin t, double factor) const {
  OwnedArray x = terms_.make(shape_t2(s, t));
  terms_.add(x.result(), "ijef->ijef", factor, t2(s, t));
  terms_.add(x.result(), "ie,jf->ijef", 1.0, t1(s), t1(t));
  return x;
}

void MomentOperands::hbar_fov(Spin s, double* f) const {
  const Result result = terms_.zeros(f, {holes(s), particles(s)});
  ArrayView bare = fock(s);
  bare.first += holes(s);
  bare.extents = result.extents;
  terms_.add(result, "me->me", 1.0, bare);
  for (const Spin r : both_spins) terms_.add(result, "menf,nf->me", 1.0, ovov(s, r), t1(r));
  if (!in_.antisymmetrised) terms_.add(result, "mfne,nf->me", -1.0, ovov(s, s), t1(s));
  terms_.finish(result);
}

/// In expressions the indices of bare (pq|rs) are in the order in which an antisymmetrised array has the right two of
/// them exchanged. Without antisymmetry other orders would do, too.
///
/// The formula of moments, in which b is dressed at once for all terms (in `of_b`), and c, too (in `of_c`). So the
/// dressed array (bd|le) is never made.
void MomentOperands::right_ovvv(Spin s, Spin t, double* v) {
  const Result result{v, shape_ovvv(s, t)};
  const double* const k = block(&MomentInputs::kvvv, s, t);
  const double half = half_if_equal(s, t), one = own(s, t);
  if (k != v || one != 1.0) std::transform(k, k + result.size(), v, [one](double number) { return one * number; });
  const ArrayView x = t2(s, t);
  OwnedArray of_b = terms_.make({holes(s), particles(s), holes(t), particles(t)});  // [k,c,m,d]
  OwnedArray of_c = terms_.make({holes(s), holes(s), particles(t), particles(t)});  // [n,k,b,d]
  const Result b = of_b.result(), c = of_c.result();
  terms_.add(result, "kcbd->kcbd", one, ovvv(s, t));
  const Signed mixed = mixed_ovov(s, t);
  terms_.add(b, "kcmd->kcmd", mixed.factor, mixed.x);
  terms_.add(b, "ke,mdec->kcmd", one, t1(s), ovvv(t, s));
  terms_.add(b, "nc,nkmd->kcmd", -one, t1(s), ooov(s, t));
  terms_.add(c, "nkbd->nkbd", one, oovv(s, t));
  terms_.add(c, "ke,nedb->nkbd", one, t1(s), ovvv(s, t));
  for (const Ring& ring : rings(s)) {
    terms_.add(result, "ledb,klce->kcbd", 1.0, ovvv(ring.spin, t), ring.x);
    terms_.add(b, "mdle,klce->kcmd", 1.0, ovov(t, ring.spin), ring.x);
  }
  if (!in_.antisymmetrised) {
    terms_.add(result, "ldbe,klce->kcbd", -1.0, ovvv(t, t), x);
    terms_.add(b, "meld,klce->kcmd", -1.0, ovov(t, t), x);
  }
  if (s != t) {
    terms_.add(result, "ldce,lkbe->kcbd", -1.0, ovvv(t, s), t2(t, s));
    terms_.add(c, "neld,lkbe->nkbd", -1.0, ovov(s, t), t2(t, s));
  }
  terms_.add(result, "mkld,lmbc->kcbd", half * one, ooov(s, t), t2(t, s));
  terms_.add(result, "nc,nkbd->kcbd", -1.0, t1(s), of_c.view());
  terms_.add(result, "mb,kcmd->kcbd", -1.0, t1(t), of_b.view());
  if (s == t) terms_.antisymmetrise(result, 1, 2);
  terms_.finish(result);
}

/// The formula of moments, in which a is dressed at once for all terms (in `of_a`).
void MomentOperands::right_ovoo(Spin s, Spin t, double* o) {
  const double half = half_if_equal(s, t), one = own(s, t);
  const Result result = terms_.zeros(o, shape_ovoo(s, t));
  const ArrayView x = t2(s, t);
  const OwnedArray pairs = tau(s, t, half);
  OwnedArray of_a = terms_.make(shape_oooo(s, t));  // [m,i,l,j]
  const Result a = of_a.result();
  terms_.add(result, "iajl->iajl", one, ovoo(s, t));
  terms_.add(result, "ie,ljae->iajl", one, t1(s), oovv(t, s));
  const Signed mixed = mixed_ovov(s, t);
  terms_.add(result, "jf,ialf->iajl", mixed.factor, t1(t), mixed.x);
  terms_.add(result, "lfea,ijef->iajl", one, ovvv(t, s), pairs.view());
  terms_.add(a, "milj->milj", one, oooo(s, t));
  terms_.add(a, "ie,melj->milj", one, t1(s), ovoo(s, t));
  terms_.add(a, "jf,lfmi->milj", one, t1(t), ovoo(t, s));
  terms_.add(a, "melf,ijef->milj", one, ovov(s, t), pairs.view());
  terms_.add(result, "ma,milj->iajl", -1.0, t1(s), of_a.view());
  for (const Ring& ring : rings(s)) terms_.add(result, "ljmd,imad->iajl", 1.0, ooov(t, ring.spin), ring.x);
  if (!in_.antisymmetrised) terms_.add(result, "mjld,imad->iajl", -1.0, ooov(t, t), x);
  if (s != t) terms_.add(result, "mild,jmda->iajl", -1.0, ooov(s, t), t2(t, s));
  terms_.add(result, "ld,ijad->iajl", half, fov(t).view(), x);
  if (s == t) terms_.antisymmetrise(result, 0, 2);
  terms_.finish(result);
}

void MomentOperands::left_ovvv(Spin s, Spin t, double* v) const {
  const double one = own(s, t);
  const Result result = terms_.zeros(v, shape_ovvv(s, t));
  terms_.add(result, "kcbd->kcbd", one, ovvv(s, t));
  terms_.add(result, "md,kcmb->kcbd", -one, t1(t), ovov(s, t));
  if (s == t) terms_.antisymmetrise(result, 1, 2);
  terms_.finish(result);
}

void MomentOperands::left_ovoo(Spin s, Spin t, double* o) const {
  const double one = own(s, t);
  const Result result = terms_.zeros(o, shape_ovoo(s, t));
  terms_.add(result, "iajl->iajl", one, ovoo(s, t));
  terms_.add(result, "le,iaje->iajl", one, t1(t), ovov(s, t));
  if (s == t) terms_.antisymmetrise(result, 0, 2);
  terms_.finish(result);
}

void MomentOperands::c2(Spin s, Spin t, double* c) const {
  const Result result = terms_.zeros(c, shape_t2(s, t));
  terms_.add(result, "ijab->ijab", 1.0, t2(s, t));
  terms_.add(result, "ia,jb->ijab", 1.0 / 3.0, t1(s), t1(t));
  if (s == t) terms_.add(result, "ib,ja->ijab", -1.0 / 3.0, t1(s), t1(s));
  terms_.finish(result);
}

double MomentOperands::overlap() const {
  double sum = 0.0;
  const Result result = terms_.zeros(&sum, {});
  for (const Spin s : both_spins) terms_.add(result, "ia,ia->", 1.0, t1(s), t1(s));
  for (const auto& [s, t] : {std::pair(alpha, alpha), std::pair(alpha, beta), std::pair(beta, beta)}) {
    const double weight = half_if_equal(s, t);  // of all orders of i, j and a, b
    terms_.add(result, "ijab,ijab->", weight, t2(s, t), tau(s, t, weight).view());
  }
  terms_.finish(result);
  return sum;
}

}
