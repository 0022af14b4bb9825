#pragma once

#include <array>
#include <vector>

namespace trifuse {

/// The amplitudes of one hole n of spin p, by the spin r of the other particle: t2 (restricted: 2 t2 - t2 exchanged)
/// and lambda2, as [i,f,e] with f of spin p and e of spin r. They are in the memory of one thread.
struct LambdaSlabs {
  std::array<std::vector<double>, 2> t2, lambda2;
};

/// The numbers that the amplitudes of one hole add to the sums over all holes, by spin. See LambdaSums.
struct LambdaPart {
  std::array<std::vector<double>, 2> eta, direct, q, g, h;
};

}
