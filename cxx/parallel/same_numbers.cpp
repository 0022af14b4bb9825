#include "cxx/parallel/same_numbers.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cxx/base/error.hpp"

namespace trifuse {

void expect_same_numbers(Communicator& communicator, const TileSource& source) {
  // Splits a 64-bit number into two halves, because a double cannot hold 64 bits exactly.
  constexpr std::uint64_t half = std::uint64_t{1} << 32;
  std::vector<double> mine(5, 0.0);
  if (const auto digest = source.digest()) {
    mine = {1.0, static_cast<double>((*digest)[0] / half), static_cast<double>((*digest)[0] % half),
            static_cast<double>((*digest)[1] / half), static_cast<double>((*digest)[1] % half)};
  }
  const std::vector<double> all = allgather(communicator, mine);
  for (std::size_t n = 0; n < all.size(); ++n) {
    if (all[n] == all[n % mine.size()]) continue;
    throw InputError(
        fmt::format("{}: ranks 0 and {} read different numbers under this name; give all ranks the same input, and "
                    "make sure that no program changes it during the run.",
                    source.info().path, n / mine.size()));
  }
}

}
