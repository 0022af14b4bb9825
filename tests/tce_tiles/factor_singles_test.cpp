#include "tce_tiles/checks/factor_singles.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cxx/base/error.hpp"
#include "tce_tiles/dense/array_specs.hpp"
#include "tce_tiles/dump_files/dump_source.hpp"
#include "tce_tiles/factors/factor_uses.hpp"
#include "tce_tiles/factors/factors_of_ranks.hpp"
#include "tce_tiles/sources/synthetic_source.hpp"
#include "tests/support/thread_communicator.hpp"

namespace trifuse::testing {
namespace {

constexpr std::array<std::int64_t, 2> occupied{4, 3}, virtuals{6, 7};

std::unique_ptr<TileSource> molecule(bool restricted, std::int64_t auxiliary = 25) {
  SyntheticMolecule made_up{restricted ? Reference::rhf : Reference::uhf, occupied[0], occupied[1], virtuals[0],
                            virtuals[1]};
  made_up.auxiliary = auxiliary;
  return make_synthetic_source(made_up);
}

std::size_t at(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

/// tau_ni^fe, any numbers.
double amplitude(int u, int s, std::int64_t n, std::int64_t i, std::int64_t f, std::int64_t e) {
  return std::sin(static_cast<double>(1 + u + 2 * s + 3 * n + 5 * i) + 0.3 * static_cast<double>(7 * f + e));
}

/// The slab [i,f,e] of orbital n.
std::vector<double> slab(int u, int s, std::int64_t n) {
  std::vector<double> tau;
  for (std::int64_t i = 0; i < occupied[at(s)]; ++i) {
    for (std::int64_t f = 0; f < virtuals[at(u)]; ++f) {
      for (std::int64_t e = 0; e < virtuals[at(s)]; ++e) tau.push_back(amplitude(u, s, n, i, f, e));
    }
  }
  return tau;
}

/// The amplitudes of spin u, [o,v].
std::vector<double> singles_of(int u) {
  std::vector<double> t1;
  for (std::int64_t k = 0; k < occupied[at(u)] * virtuals[at(u)]; ++k) {
    t1.push_back(std::cos(static_cast<double>(5 * u + 3 * k)));
  }
  return t1;
}

std::vector<double> elements_of(const TileSource& source, const std::string& name) {
  const auto array = dense_input_of(source)->arrays->array(name);
  std::vector<double> values(at(array->size()));
  array->read_all(values);
  return values;
}

/// The elements of the array (ie|fa) with i, e of spin s and f, a of spin u.
std::vector<double> integrals(const TileSource& source, int s, int u) {
  const std::string letters = "ab", suffix{'_', letters[at(s)], letters[at(s)], letters[at(u)], letters[at(u)]};
  return elements_of(source, source.tiles().restricted() ? "ovvv" : "ovvv" + suffix);
}

/// The elements of the array (mn|fa) of spin u.
std::vector<double> exchange_integrals(const TileSource& source, int u) {
  return elements_of(source, exchange_arrays(source.tiles().restricted())[at(u)].name);
}

/// R[n,a] of spin u without the orbital `left_out`, summed over integrals.
std::vector<double> residual_of_integrals(const TileSource& source, int u, std::int64_t left_out) {
  const int spins = source.tiles().restricted() ? 1 : 2;
  const std::int64_t v_u = virtuals[at(u)], o_u = occupied[at(u)];
  std::vector<double> wanted(at(o_u * v_u), 0.0);
  for (int s = 0; s < spins; ++s) {
    const std::vector<double> ovvv = integrals(source, s, u);
    const std::int64_t v_s = virtuals[at(s)];
    for (std::int64_t n = 0; n < occupied[at(u)]; ++n) {
      for (std::int64_t i = 0; n != left_out && i < occupied[at(s)]; ++i) {
        for (std::int64_t f = 0; f < v_u; ++f) {
          for (std::int64_t e = 0; e < v_s; ++e) {
            for (std::int64_t a = 0; a < v_u; ++a) {
              wanted[at(n * v_u + a)] += amplitude(u, s, n, i, f, e) * ovvv[at(((i * v_s + e) * v_u + f) * v_u + a)];
            }
          }
        }
      }
    }
  }
  const std::vector<double> oovv = exchange_integrals(source, u), t1 = singles_of(u);
  for (std::int64_t n = 0; n < o_u; ++n) {
    for (std::int64_t m = 0; n != left_out && m < o_u; ++m) {
      for (std::int64_t f = 0; f < v_u; ++f) {
        for (std::int64_t a = 0; a < v_u; ++a) {
          wanted[at(n * v_u + a)] -= t1[at(m * v_u + f)] * oovv[at(((m * o_u + n) * v_u + f) * v_u + a)];
        }
      }
    }
  }
  return wanted;
}

/// Adds the amplitudes of part `part` of `parts` of all pairs of spins and orbitals.
void add_part(FactorSingles& singles, int spins, std::int64_t left_out, int part, int parts) {
  int job = 0;
  for (int u = 0; u < spins; ++u) {
    for (int s = 0; s < spins; ++s) {
      for (std::int64_t n = 0; n < occupied[at(u)]; ++n) {
        if (n == left_out || job++ % parts != part) continue;
        singles.add(u, s, n, slab(u, s, n).data());
        if (u == s) singles.add_exchange(u, n, singles_of(u).data());
      }
    }
  }
}

/// Visits the factors that `singles` needs and returns R of all spins.
std::vector<std::vector<double>> take_residuals(FactorSingles& singles, int spins) {
  std::vector<std::vector<double>> found;
  for (int u = 0; u < spins; ++u) {
    const FactorUse use{u == 0 ? OrbitalClass::particle_alpha : OrbitalClass::particle_beta, singles.functions(u),
                        [&](const FactorBand& band) { singles.add_band(u, band); }};
    visit_once(singles.factors(), std::span(&use, 1), 2, nullptr);
    found.push_back(singles.take_residual(u));
  }
  return found;
}

TEST(FactorSingles, AreTheSumOverTheIntegrals) {
  for (const bool restricted : {true, false}) {
    const auto source = molecule(restricted);
    const int spins = restricted ? 1 : 2;
    for (const std::int64_t left_out : {std::int64_t{-1}, std::int64_t{1}}) {
      FactorSingles singles(*dense_input_of(*source)->factor_source, occupied, virtuals);
      add_part(singles, spins, left_out, 0, 1);
      const std::vector<std::vector<double>> all = take_residuals(singles, spins);
      for (int u = 0; u < spins; ++u) {
        const std::vector<double>& found = all[at(u)];
        const std::vector<double> wanted = residual_of_integrals(*source, u, left_out);
        ASSERT_EQ(found.size(), wanted.size());
        EXPECT_GT(std::abs(*std::max_element(wanted.begin(), wanted.end())), 1e-3);
        for (std::size_t k = 0; k < found.size(); ++k) EXPECT_NEAR(found[k], wanted[k], 1e-13);
      }
    }
  }
}

TEST(FactorSingles, OfRanksThatReadAPartOfTheFactorsAreTheSame) {
  // A buffer for the sums of one orbital, of three orbitals and of all; more and fewer functions than ranks.
  for (const auto& [auxiliary, sums] : {std::pair{25, 0}, {25, 3}, {25, 100}, {2, 3}}) {
    for (const bool restricted : {true, false}) {
      const auto source = molecule(restricted, auxiliary);
      const int spins = restricted ? 1 : 2;
      for (const int ranks : {1, 2, 3, 5, 20}) {
        SCOPED_TRACE(std::to_string(ranks) + " ranks, " + std::to_string(auxiliary) + " functions");
        const std::int64_t bytes = sums * static_cast<std::int64_t>(sizeof(double)) * virtuals[1] * auxiliary;
        const auto failures = failures_of_ranks(
            ranks,
            [&, functions = auxiliary](Communicator& communicator) {
              FactorSingles singles(*dense_input_of(*source)->factor_source, occupied, virtuals);
              add_part(singles, spins, 1, communicator.rank(), ranks);
              singles.share(communicator, bytes, nullptr);
              std::vector<std::vector<double>> all;
              for (int u = 0; u < spins; ++u) {
                EXPECT_EQ(singles.functions(u).count, part_of_rank(functions, communicator.rank(), ranks).count);
              }
              all = take_residuals(singles, spins);
              for (int u = 0; u < spins; ++u) {
                communicator.allreduce_sum(all[at(u)]);
                const std::vector<double> wanted = residual_of_integrals(*source, u, 1);
                for (std::size_t k = 0; k < wanted.size(); ++k) EXPECT_NEAR(all[at(u)][k], wanted[k], 1e-13);
              }
            },
            true);
        EXPECT_EQ(failures, std::vector<std::string>(at(ranks)));
      }
    }
  }
}

TEST(FactorSingles, EndInAllRanksIfOneRankStops) {
  const auto source = molecule(true);
  const auto failures = failures_of_ranks(
      3,
      [&](Communicator& communicator) {
        FactorSingles singles(*dense_input_of(*source)->factor_source, occupied, virtuals);
        add_part(singles, 1, -1, communicator.rank(), 3);
        const std::atomic<bool> stop{communicator.rank() == 1};
        EXPECT_THROW(singles.share(communicator, 0, &stop), Interrupted);
      },
      true);
  EXPECT_EQ(failures, std::vector<std::string>(3));
}

}
}
