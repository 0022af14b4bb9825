#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "fortran_iface/trifuse.h"

namespace trifuse::testing {

/// Expects that the last call failed with this code and with one sentence that contains `part`.
inline void expect_status(const trifuse_status& status, trifuse_code code, const std::string& part) {
  const std::string message = status.message;
  EXPECT_EQ(status.code, code) << message;
  EXPECT_NE(message.find(part), std::string::npos) << message << "\nlacks: " << part;
  EXPECT_TRUE(code == TRIFUSE_SUCCESS || message.ends_with(".")) << message;
}
inline void expect_success(const trifuse_status& status) {
  EXPECT_EQ(status.code, TRIFUSE_SUCCESS) << status.message;
}

/// Amplitudes and a calculation with them. The destructor deletes both.
class OpenCalculation {
 public:
  explicit OpenCalculation(const std::string& path) {
    amplitudes = trifuse_open_amplitudes(&status, path.c_str());
    expect_success(status);
    begin(amplitudes);
  }
  explicit OpenCalculation(trifuse_amplitudes known) { begin(known); }
  ~OpenCalculation() {
    trifuse_delete_calculation(&calculation);
    trifuse_delete_amplitudes(&amplitudes);
  }
  OpenCalculation(const OpenCalculation&) = delete;
  OpenCalculation& operator=(const OpenCalculation&) = delete;

  double energy() {
    double e_paren_t = 0.0;
    trifuse_run(&status, calculation);
    expect_success(status);
    if (status.code == TRIFUSE_SUCCESS) trifuse_get_energy(&status, calculation, 0, nullptr, nullptr, &e_paren_t);
    return e_paren_t;
  }

  trifuse_status status{};
  trifuse_amplitudes amplitudes = nullptr;
  trifuse_calculation calculation = nullptr;

 private:
  void begin(trifuse_amplitudes right) {
    calculation = trifuse_new_calculation(&status, right, nullptr);
    expect_success(status);
    trifuse_set_device(&status, calculation, TRIFUSE_DEVICE_CPU);
    trifuse_set_threads(&status, calculation, 2);
  }
};

/// The description of open amplitudes, and the arrays to which it points.
struct Description {
  explicit Description(trifuse_amplitudes of) {
    trifuse_status status;
    std::int64_t orbitals = 0;
    for (std::int64_t n = 0; n < trifuse_tile_count(&status, of); ++n) {
      tiles.emplace_back();
      trifuse_get_tile(&status, of, n, &tiles.back());
      orbitals += tiles.back().size;
    }
    energies.resize(static_cast<std::size_t>(orbitals));
    trifuse_get_orbital_energies(&status, of, orbitals, energies.data());
    expect_success(status);
    all.tile_count = static_cast<std::int64_t>(tiles.size());
    all.tiles = tiles.data();
    all.orbital_energies = energies.data();
    all.has_integrals = 1;
  }
  std::vector<trifuse_tile> tiles;
  std::vector<double> energies;
  trifuse_description all{};
};

/// A reader that delivers the blocks of other amplitudes, its context.
inline std::int32_t read_from(void* context, std::int32_t tensor, const std::int64_t* tiles, std::int64_t size,
                              double* block) {
  trifuse_status status;
  trifuse_get_block(&status, static_cast<trifuse_amplitudes>(context), tensor, tiles, size, block);
  return status.code;
}

}
