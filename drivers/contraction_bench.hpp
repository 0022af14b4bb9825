#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cxx/contraction/tccg.hpp"
#include "drivers/contraction_devices.hpp"

/// `trifuse bench --contractions`: the 48 contractions of TCCG on one device, beside what bounds them.
namespace trifuse::cli {

/// The measurement of one contraction.
struct MeasuredContraction {
  const contraction::TccgContraction* which;
  std::string plan;
  double operations, bytes;
  double seconds;  ///< median of the repetitions
  DeviceRates rates;
  double bound;  ///< operations per second, see contraction::bound()
  double error;  ///< largest relative error of the elements that were computed again by plain sums

  double rate() const { return operations / seconds; }
  double share_of_bound() const { return rate() / bound; }
};

/// Measures all contractions. `share`: part of the size of the benchmark, more than 0, at most 1. `repeats`: runs of a
/// contraction, at least 1. `each` gets each measurement as soon as it is known.
///
/// Throws SystemError if the tensors do not fit into memory, and Error if a result is wrong.
std::vector<MeasuredContraction> measure_contractions(ContractionDevice& device, double share, int repeats,
                                                      const std::function<void(const MeasuredContraction&)>& each);

/// The head and a line of the table for the user.
std::string contraction_table_head();
std::string contraction_table_line(const MeasuredContraction& measured);
/// Returns the geometric means of the shares of the bound, of each group and of all, one line each.
std::string contraction_means(const std::vector<MeasuredContraction>& measured);

/// The same table as comma-separated values begins with this line.
extern const std::string contraction_csv_head;
std::string contraction_csv(const std::vector<MeasuredContraction>& measured);
nlohmann::ordered_json json_contractions(const ContractionDevice& device, double share,
                                         const std::vector<MeasuredContraction>& measured);

/// Returns the best candidates of a contraction with their predicted times, one line each. `number`: 1 to 48.
std::string explain_contraction(const ContractionDevice& device, int number, double share);

}
