#include "cxx/moments/factored_arrays.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "cxx/base/threads.hpp"
#include "cxx/moments/made_arrays.hpp"
#include "cxx/moments/tensors.hpp"
#include "tce_tiles/dense/array_specs.hpp"

namespace trifuse::moments {

namespace {

/// Reads factors of two particles, and multiplies them.
class Products {
 public:
  explicit Products(const DenseInput& input)
      : factors_(input.factor_source), arrays_(input.arrays), header_(input.header) {}

  /// Writes kvvv[k,c,b,d] = sum_Q (sum_e t1[k,e] B[Q,c,e]) B[Q,b,d]. `t1`: the array of amplitudes of k.
  void make_kvvv(const ArraySpec& spec, const ArraySpec& t1, double* elements) const {
    const std::vector<std::int64_t> shape = header_.shape(spec);
    const Result kvvv{elements, shape};
    const auto read = arrays_->array(t1.name);
    Buffer amplitudes(static_cast<std::size_t>(read->size()));
    read->read_all(amplitudes.span());
    const ArrayView ke(amplitudes.data(), {shape[0], shape[1]});
    std::fill_n(elements, kvvv.size(), 0.0);
    for_some_factors(spec.axes[1], spec.axes[2], [&](const ArrayView& ce, const ArrayView& bd, const Terms& terms) {
      Buffer memory = Buffer::zeros(static_cast<std::size_t>(ce.extents[0] * shape[0] * shape[1]));
      const Result kc{memory.data(), {ce.extents[0], shape[0], shape[1]}};
      terms.add(kc, "ke,qce->qkc", 1.0, ke, ce);
      terms.add(kvvv, "qkc,qbd->kcbd", 1.0, kc.view(), bd);
    });
  }

  /// Writes (aa|bb), and (ab|ab) if the array has a second matrix. `vectors`: of other orbitals a and b; null: those of
  /// the factors.
  void make_diagonals(const ArraySpec& spec, const OrbitalVectors* vectors, double* elements) const {
    const std::vector<std::int64_t> shape{size(spec.axes[0]), size(spec.axes[1])};
    const Result coulomb{elements, shape}, exchange{elements + coulomb.size(), shape};
    std::fill_n(elements, spec.matrices * coulomb.size(), 0.0);
    const auto add = [&](const ArrayView& a, const ArrayView& b, const Terms& terms) {
      terms.add(coulomb, "qaa,qbb->ab", 1.0, a, b);
      if (spec.matrices == 2) terms.add(exchange, "qab,qab->ab", 1.0, a, a);
    };
    for_some_factors(spec.axes[0], spec.axes[1], [&](const ArrayView& a, const ArrayView& b, const Terms& terms) {
      if (vectors == nullptr) return add(a, b, terms);
      const OwnedArray of_a = rotated(a, vectors->particles[spin_of(spec.axes[0])], terms);
      if (spec.axes[0] == spec.axes[1]) return add(of_a.view(), of_a.view(), terms);
      const OwnedArray of_b = rotated(b, vectors->particles[spin_of(spec.axes[1])], terms);
      add(of_a.view(), of_b.view(), terms);
    });
  }

 private:
  std::int64_t size(OrbitalClass c) const { return header_.size(c); }

  /// Returns sum_ab u[x,a] u[y,b] B[Q,a,b].
  static OwnedArray rotated(const ArrayView& factors, const std::vector<double>& u, const Terms& terms) {
    const ArrayView vectors(u.data(), {factors.extents[1], factors.extents[2]});
    OwnedArray half = terms.make(factors.extents), whole = terms.make(factors.extents);
    terms.add(half.result(), "qab,yb->qay", 1.0, factors, vectors);
    terms.add(whole.result(), "xa,qay->qxy", 1.0, vectors, half.view());
    return whole;
  }

  /// Calls `use` with the factors [Q,v,v] of two classes of particles for some auxiliary functions, until all
  /// functions have been used.
  template <typename Use>
  void for_some_factors(OrbitalClass first, OrbitalClass second, const Use& use) const {
    constexpr std::int64_t some = 256;  // enough for products that are not limited by the memory of the result
    const int threads = available_threads();
    const Terms terms(contract_on_cores(threads), threads);
    for (std::int64_t begin = 0; begin < factors_->auxiliary(); begin += some) {
      const std::int64_t end = std::min(begin + some, factors_->auxiliary());
      const auto view = [&](const Buffer& factors, OrbitalClass of) {
        return ArrayView(factors.data(), {end - begin, size(of), size(of)});
      };
      const Buffer of_first = factors(first, begin, end, threads);
      const Buffer of_second = first == second ? Buffer() : factors(second, begin, end, threads);
      use(view(of_first, first), view(first == second ? of_first : of_second, second), terms);
    }
  }

  Buffer factors(OrbitalClass particles, std::int64_t begin, std::int64_t end, int threads) const {
    const std::int64_t plane = size(particles) * size(particles);
    Buffer all(static_cast<std::size_t>((end - begin) * plane));
    factors_->visit_vv(particles, begin, end, threads, [&](const FactorBand& band) {
      std::copy_n(band.planes, band.count * plane, all.data() + (band.begin - begin) * plane);
    });
    return all;
  }

  std::shared_ptr<const FactorSource> factors_;
  std::shared_ptr<const DenseArrays> arrays_;
  DenseHeader header_;
};

}

DenseInput with_products_of_factors(const DenseInput& input, const OrbitalsToBe& semicanonical) {
  const bool restricted = input.header.restricted;
  const Products products(input);
  auto arrays = std::make_shared<MadeArrays>(input.arrays);
  for (ArraySpec spec : moment_arrays(restricted)) {
    // A closed shell has only arrays of alpha orbitals.
    if (restricted)
      std::replace(spec.axes.begin(), spec.axes.end(), OrbitalClass::particle_beta, OrbitalClass::particle_alpha);
    if (input.header.size(spec) == 0) continue;
    if (spec.kind == ArrayKind::kvvv) {
      const ArraySpec t1 = array_spec(ArrayKind::t1, restricted, spec.first, spec.first);
      arrays->add(spec.name, input.header.shape(spec),
                  [=](double* elements) { products.make_kvvv(spec, t1, elements); });
    } else if (spec.kind == ArrayKind::vvvv_diag) {
      arrays->add(spec.name, input.header.shape(spec),
                  [=](double* elements) { products.make_diagonals(spec, nullptr, elements); });
    } else if (spec.kind == ArrayKind::vvvv_diag_semicanonical && semicanonical) {
      arrays->add(spec.name, input.header.shape(spec), [=](double* elements) {
        const OrbitalVectors vectors = semicanonical();
        products.make_diagonals(spec, &vectors, elements);
      });
    }
  }
  DenseInput result = input;
  result.arrays = std::move(arrays);
  result.factors.clear();
  result.factor_source = nullptr;
  return result;
}

}
