#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cxx/contraction/description.hpp"
#include "drivers/contraction_devices.hpp"

/// `trifuse bench --contractions`: sets of contractions on one device, beside what bounds them.
namespace trifuse::cli {

/// One contraction of a set.
struct NumberedContraction {
  int number;  ///< 1 for the first one
  std::string group;
  std::string expression;
  contraction::Contraction contraction;  ///< in C order without gaps
};

/// Contractions that are measured together.
struct ContractionSet {
  std::string title;    ///< for the user
  std::string size_of;  ///< key of `size` in reports, and name of the option that sets it
  nlohmann::ordered_json size;
  bool beside_cublas;                             ///< measure cuBLAS's batched DGEMM, too
  std::vector<NumberedContraction> contractions;  ///< those of a group follow each other
};

/// Returns the 48 contractions of TCCG. `share`: part of the size of the benchmark, more than 0, at most 1.
ContractionSet tccg_set(double share);
/// Returns batches of `products` products of n x n matrices, n from 2 to 32, each with an own A and with a shared A.
ContractionSet batched_set(std::int64_t products, bool beside_cublas);

/// The measurement of one contraction.
struct MeasuredContraction {
  NumberedContraction which;
  std::string plan;
  double operations, bytes;
  double seconds;  ///< median of the repetitions
  DeviceRates rates;
  double bound;           ///< operations per second, see contraction::bound()
  double error;           ///< largest relative error of the elements that were computed again by plain sums
  double cublas_seconds;  ///< median of cuBLAS; 0 if it was not measured
  std::optional<contraction::Tuning> tuning;

  double rate() const { return operations / seconds; }
  double share_of_bound() const { return rate() / bound; }
  double ratio_to_cublas() const { return cublas_seconds / seconds; }  ///< of the rates
};

/// Measures all contractions of a set. `repeats`: runs of a contraction, at least 1. `tune`: measure the plans of each
/// contraction first, and store the fastest ones. `each` gets each measurement as soon as it is known.
///
/// Throws SystemError if the tensors do not fit into memory or a plan cannot be stored, and Error if a result is wrong.
std::vector<MeasuredContraction> measure_contractions(ContractionDevice& device, const ContractionSet& set, int repeats,
                                                      bool tune,
                                                      const std::function<void(const MeasuredContraction&)>& each);

/// The head and a line of the table for the user. `tune`: as for measure_contractions().
std::string contraction_table_head(const ContractionSet& set, bool tune);
std::string contraction_table_line(const MeasuredContraction& measured);
/// Returns the geometric means of the shares of the bound, of each group and of all, one line each.
std::string contraction_means(const std::vector<MeasuredContraction>& measured);

/// Returns how good the first choices of the model are; an empty text if no plans were tuned.
std::string tuning_summary(const std::vector<MeasuredContraction>& measured);

/// The same table as comma-separated values begins with these names of columns.
extern const std::string contraction_csv_beginning;
std::string contraction_csv(const ContractionSet& set, const std::vector<MeasuredContraction>& measured);
nlohmann::ordered_json json_contractions(const ContractionDevice& device, const ContractionSet& set,
                                         const std::vector<MeasuredContraction>& measured);

/// Returns the best candidates of a contraction with their predicted times, one line each.
std::string explain_contraction(const ContractionDevice& device, const NumberedContraction& which);

}
