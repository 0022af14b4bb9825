#include "c_interface_test_support.hpp"
#include "tests/support/expected_energies.hpp"

/// Callers that have the integrals {h p|h p} get the complete check of the equation of the single excitations.
namespace trifuse::testing {
namespace {

struct Case {
  const char* dump;
  std::int32_t reference;
};

/// A calling program that may deliver wrong blocks of V2.
struct Program {
  trifuse_amplitudes held = nullptr;
  std::vector<trifuse_class> classes;  ///< of the tiles
  double factor_of_ovvv = 1.0;         ///< of {p p|h p}
  double factor_of_exchange = 1.0;     ///< of {h p|h p}
  std::int64_t exchange_blocks_asked_for = 0;

  bool hole(std::int64_t tile) const { return classes[static_cast<std::size_t>(tile)] <= TRIFUSE_HOLE_BETA; }
  bool is_exchange(const std::int64_t* tiles) const {
    return hole(tiles[0]) && !hole(tiles[1]) && hole(tiles[2]) && !hole(tiles[3]);
  }
  static std::int32_t deliver(void* context, std::int32_t tensor, const std::int64_t* tiles, std::int64_t size,
                              double* block) {
    auto* program = static_cast<Program*>(context);
    const std::int32_t code = read_from(program->held, tensor, tiles, size, block);
    if (tensor != TRIFUSE_V2) return code;
    const bool ovvv = !program->hole(tiles[0]) && !program->hole(tiles[3]), exchange = program->is_exchange(tiles);
    const double factor = ovvv ? program->factor_of_ovvv : exchange ? program->factor_of_exchange : 1.0;
    std::transform(block, block + size, block, [&](double x) { return factor * x; });
    if (exchange) ++program->exchange_blocks_asked_for;
    return code;
  }
};

class ExchangeIntegrals : public ::testing::TestWithParam<Case> {
 protected:
  ExchangeIntegrals() : files_((nwchem_data() / GetParam().dump / "c").string()), description_(files_.amplitudes) {
    description_.all.reference = GetParam().reference;
    program_.held = files_.amplitudes;
    for (const trifuse_tile& tile : description_.tiles) {
      program_.classes.push_back(static_cast<trifuse_class>(tile.orbital_class));
    }
  }

  trifuse_amplitudes described(std::int32_t with_exchange, bool delivered = true) {
    description_.all.has_exchange_integrals = with_exchange;
    trifuse_status status;
    trifuse_amplitudes made =
        trifuse_new_amplitudes(&status, &description_.all, delivered ? &Program::deliver : nullptr, &program_);
    expect_success(status);
    return made;
  }
  /// The witness of the equation of the single excitations.
  trifuse_witness equation(trifuse_amplitudes amplitudes) {
    trifuse_status status;
    trifuse_witness witness;
    trifuse_get_witness(&status, amplitudes, 1, &witness);
    expect_success(status);
    return witness;
  }
  trifuse_witness equation_of_delivered(std::int32_t with_exchange) {
    trifuse_amplitudes read = described(with_exchange);
    const trifuse_witness found = equation(read);
    trifuse_delete_amplitudes(&read);
    return found;
  }

  OpenCalculation files_;
  Description description_;
  Program program_;
};

TEST_P(ExchangeIntegrals, MakeTheTestComplete) {
  const trifuse_witness weak = equation_of_delivered(0);
  EXPECT_STREQ(weak.name, "singles equation without oovv");
  EXPECT_EQ(weak.result, TRIFUSE_WITNESS_PASSED);
  EXPECT_EQ(program_.exchange_blocks_asked_for, 0);
  const trifuse_witness sharp = equation_of_delivered(1);
  EXPECT_STREQ(sharp.name, "singles equation");
  EXPECT_EQ(sharp.result, TRIFUSE_WITNESS_PASSED);
  EXPECT_LT(sharp.value, 1e-9);
  EXPECT_GT(program_.exchange_blocks_asked_for, 0);
}

TEST_P(ExchangeIntegrals, LetWrongIntegralsBeNoticed) {
  program_.factor_of_ovvv = 1.02;
  EXPECT_EQ(equation_of_delivered(0).result, TRIFUSE_WITNESS_PASSED);
  const trifuse_witness failed = equation_of_delivered(1);
  EXPECT_EQ(failed.result, TRIFUSE_WITNESS_FAILED);
  EXPECT_GT(failed.value, failed.limit);
}

TEST_P(ExchangeIntegrals, AreTestedThemselves) {
  for (const double factor : {0.0, -1.0, 2.0}) {
    program_.factor_of_exchange = factor;
    EXPECT_EQ(equation_of_delivered(1).result, TRIFUSE_WITNESS_FAILED) << factor;
  }
}

TEST_P(ExchangeIntegrals, DoNotChangeTheEnergy) {
  trifuse_amplitudes read = described(1);
  EXPECT_EQ(OpenCalculation(read).energy(), files_.energy());
  trifuse_delete_amplitudes(&read);
}

TEST_P(ExchangeIntegrals, AreSetBlockByBlock) {
  trifuse_amplitudes filled = described(1, false), without = described(0, false);
  trifuse_status status;
  EXPECT_EQ(trifuse_block_count(&status, without, TRIFUSE_V2),
            trifuse_block_count(&status, files_.amplitudes, TRIFUSE_V2));
  EXPECT_GT(trifuse_block_count(&status, filled, TRIFUSE_V2), trifuse_block_count(&status, without, TRIFUSE_V2));
  std::vector<std::int64_t> last(4);
  for (std::int32_t tensor = TRIFUSE_T1; tensor <= TRIFUSE_V2; ++tensor) {
    for (std::int64_t n = 0; n < trifuse_block_count(&status, filled, tensor); ++n) {
      std::int64_t size;
      trifuse_get_block_tiles(&status, filled, tensor, n, last.data(), &size);
      std::vector<double> block(static_cast<std::size_t>(size));
      trifuse_get_block(&status, files_.amplitudes, tensor, last.data(), size, block.data());
      expect_success(status);
      if (tensor == TRIFUSE_V2 && n + 1 == trifuse_block_count(&status, filled, tensor)) {
        trifuse_witness_count(&status, filled);
        expect_status(status, TRIFUSE_BAD_USAGE, "were not set");
        trifuse_set_block(&status, without, tensor, last.data(), size, block.data());
        expect_status(status, TRIFUSE_BAD_USAGE, "no block");
      }
      trifuse_set_block(&status, filled, tensor, last.data(), size, block.data());
      expect_success(status);
    }
  }
  EXPECT_TRUE(program_.is_exchange(last.data()));
  EXPECT_STREQ(equation(filled).name, "singles equation");
  EXPECT_EQ(equation(filled).result, TRIFUSE_WITNESS_PASSED);
  EXPECT_EQ(OpenCalculation(filled).energy(), files_.energy());
  trifuse_delete_amplitudes(&filled);
  trifuse_delete_amplitudes(&without);
}

TEST_P(ExchangeIntegrals, NeedOtherIntegrals) {
  trifuse_status status;
  for (const std::int32_t value : {-1, 2, 1 << 30}) {
    description_.all.has_exchange_integrals = value;
    EXPECT_EQ(trifuse_new_amplitudes(&status, &description_.all, &Program::deliver, &program_), nullptr);
    expect_status(status, TRIFUSE_BAD_USAGE, "0 or 1");
  }
  description_.all.has_exchange_integrals = 1;
  description_.all.has_integrals = 0;
  EXPECT_EQ(trifuse_new_amplitudes(&status, &description_.all, &Program::deliver, &program_), nullptr);
  expect_status(status, TRIFUSE_BAD_USAGE, "has_integrals");
}

INSTANTIATE_TEST_SUITE_P(Nwchem, ExchangeIntegrals,
                         ::testing::Values(Case{"h2o_631g_c2v_rhf_t3_2eorb", TRIFUSE_RHF},
                                           Case{"h2o_631g_c2v_rhf_t10", TRIFUSE_RHF},
                                           Case{"ch2_631g_c1_uhf_t3", TRIFUSE_UHF}),
                         [](const auto& one) { return std::string(one.param.dump); });

}
}
