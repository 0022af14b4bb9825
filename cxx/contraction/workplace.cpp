#include "cxx/contraction/workplace.hpp"

#include <algorithm>

#include "cxx/contraction/cpu_contraction.hpp"

namespace trifuse::contraction {

namespace {

class Cores final : public Workplace {
 public:
  explicit Cores(int threads) : threads_(threads) {}

  void add(const Contraction& contraction, double factor, const double* a, const double* b, double* c) override {
    CpuContraction(contraction, threads_).run(factor, a, b, 1.0, c);
  }
  void set_to_zero(double* first, std::int64_t size) override { std::fill_n(first, size, 0.0); }
  void finish(double*, std::int64_t) override {}
  void forget(const double*) override {}
  bool is_host() const override { return true; }

 private:
  int threads_;
};

}

std::shared_ptr<Workplace> cores_as_workplace(int threads) {
  return std::make_shared<Cores>(threads);
}

}
