#include "cxx/base/error.hpp"
#include "cxx/cuda/contraction/device_workplace.hpp"

namespace trifuse::contraction {

std::shared_ptr<Workplace> device_as_workplace(int, int) {
  throw UsageError("This program was built without CUDA; compute on CPU cores.");
}

}
