#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cxx/contraction/description.hpp"
#include "cxx/contraction/tuned_plans.hpp"

namespace trifuse::cli {

/// Speeds that bound a contraction.
struct DeviceRates {
  /// Operations per second of DGEMM of the BLAS library, or of cuBLAS. If cuBLAS cannot be loaded, those of the best
  /// FP64 instruction of the GPU.
  double dgemm;
  double copy;  ///< bytes per second of a copy of large arrays, read and written
};

/// Where `trifuse bench --contractions` measures: CPU cores or a GPU. Tensors have C order without gaps.
class ContractionDevice {
 public:
  ContractionDevice() = default;
  virtual ~ContractionDevice() = default;
  ContractionDevice(const ContractionDevice&) = delete;
  ContractionDevice& operator=(const ContractionDevice&) = delete;

  /// Name for the user, e.g. "2 threads of AMD EPYC".
  virtual std::string name() const = 0;
  /// Measures the rates.
  virtual DeviceRates rates() = 0;
  /// Describes the plans from which the device chooses, one line each, by their predicted time. `contraction`: in the
  /// canonical form.
  virtual std::vector<std::string> candidates(const contraction::Contraction& contraction) const = 0;
  /// Returns the file of tuned plans that prepare() uses.
  virtual contraction::TunedPlans tuned_plans() const { return {}; }
  /// Prepares the storing of tuned plans. Returns a warning or an empty text. Throws UsageError on CPU cores, and what
  /// prepare_tuned_plans() throws.
  virtual std::string begin_tuning();
  /// Plans a contraction and runs it once, to warm up. `a`, `b`: all elements; they must stay valid until the last
  /// run().
  virtual void prepare(const contraction::Contraction& contraction, std::span<const double> a,
                       std::span<const double> b) = 0;
  /// Measures the plans of the contraction. It then has the plan that store_tuned_plan() stores. Returns nothing if the
  /// contraction needs slices: their plans are not tuned.
  virtual std::optional<contraction::Tuning> tune() { return std::nullopt; }
  /// Stores what tune() has found, see store_tuning().
  virtual void store_tuned_plan(const contraction::Tuning&) {}
  /// Describes the plan of the contraction.
  virtual std::string plan() const = 0;
  /// Computes C = sum A B. Returns the seconds. Before that no large tensor is in a cache.
  virtual double run() = 0;
  /// Computes a batch of small products by cuBLAS, see TimedContraction::run_cublas(). Returns 0 on CPU cores.
  virtual double run_cublas() { return 0.0; }
  /// Returns the elements of C after run().
  virtual std::vector<double> result() const = 0;
};

/// `threads`: at least 1, and at most startable_threads().
std::unique_ptr<ContractionDevice> make_cpu_cores(int threads);
/// `number`: of a visible GPU. The device throws DeviceError, and UsageError in a build without CUDA.
std::unique_ptr<ContractionDevice> make_gpu(int number);

}
