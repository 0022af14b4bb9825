#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cxx/calculation/option_table.hpp"
#include "cxx/cuda/contraction/kept_contractions.hpp"
#include "cxx/cuda/runtime/choose_devices.hpp"
#include "fortran_iface/handles.hpp"
#include "trifuse_config.hpp"

using namespace trifuse::c_interface;

namespace {

/// Sets an option from a text. If the text or the result is not possible, the options do not change.
void set_text(CalculationSetup& setup, const trifuse::CalculationOption& option, const std::string& value) {
  trifuse::CalculationOptions options = setup.options;
  option.set_text(options, value, option.name_at(trifuse::Door::library));
  trifuse::check_options(options);
  const bool other_gpus = options.devices != setup.options.devices;
  if (options.devices_required && (other_gpus || !setup.options.devices_required)) {
    trifuse::choose_devices(trifuse::visible_devices(), options.devices);
  }
  setup.options = std::move(options);
}

/// The same for a setter. `value`: returns the text.
template <typename Value>
void set_by(trifuse_status* status, trifuse_calculation calculation, const char* name, Value value) {
  guarded(status, [&] {
    const auto setup = checked(calculation);
    set_text(*setup, *trifuse::find_option(trifuse::Door::library, name), value());
  });
}

/// Sets an option whose words are the values of the enum trifuse_`name`.
void set_word(trifuse_status* status, trifuse_calculation calculation, const char* name, std::int32_t word) {
  set_by(status, calculation, name, [&] {
    const auto words = trifuse::find_option(trifuse::Door::library, name)->values.words;
    if (word >= 0 && word < std::ssize(words)) return std::string(words[static_cast<std::size_t>(word)]);
    throw trifuse::UsageError(fmt::format("{} is {}; it must be one of the values of trifuse_{}.", name, word, name));
  });
}

void set_number(trifuse_status* status, trifuse_calculation calculation, const char* name, auto number) {
  set_by(status, calculation, name, [&] { return fmt::format("{}", number); });
}

void set_flag(trifuse_status* status, trifuse_calculation calculation, const char* name, std::int32_t flag) {
  set_by(status, calculation, name, [&] {
    // Another value comes from uninitialised memory.
    if (flag != 0 && flag != 1) throw trifuse::UsageError(fmt::format("{} must be 0 or 1; it is {}.", name, flag));
    return flag == 1 ? "true" : "false";
  });
}

/// Sets an option from a list of the caller, which is not read if it is null or has an impossible length. `what`: name
/// of the elements.
void set_list(trifuse_status* status, trifuse_calculation calculation, const char* name, std::int64_t count,
              const auto* numbers, const char* what) {
  set_by(status, calculation, name, [&] {
    const auto most = static_cast<std::int64_t>(trifuse::find_option(trifuse::Door::library, name)->values.most_values);
    if (numbers != nullptr && count >= 1 && count <= most)
      return fmt::format("{}", fmt::join(numbers, numbers + count, ","));
    throw trifuse::UsageError(fmt::format("{} {} were given{}; 1 to {} are possible.", count, what,
                                          numbers == nullptr ? ", which are null" : "", most));
  });
}

}

const char* trifuse_version(void) {
  return trifuse::version;
}

int64_t trifuse_features(void) {
  return (trifuse::has_cuda ? TRIFUSE_FEATURE_CUDA : 0) | (trifuse::has_mpi ? TRIFUSE_FEATURE_MPI : 0) |
         (trifuse::has_fortran ? TRIFUSE_FEATURE_FORTRAN : 0);
}

int64_t trifuse_gpu_count(trifuse_status* status) {
  return guarded(status, int64_t{0}, [&] {
    const std::vector<trifuse::DeviceInfo> visible = trifuse::visible_devices();
    return static_cast<int64_t>(std::count_if(visible.begin(), visible.end(), trifuse::is_supported));
  });
}

void trifuse_release_memory(trifuse_status* status) {
  guarded(status, [] {
    trifuse::contraction::drop_kept_contractions();
    trifuse::release_kept_device_memory();
  });
}

trifuse_calculation trifuse_new_calculation(trifuse_status* status, trifuse_amplitudes right, trifuse_amplitudes left) {
  return guarded(status, trifuse_calculation{}, [&] {
    auto setup = std::make_shared<CalculationSetup>();
    setup->right = checked(right);
    if (left != nullptr) setup->left = checked(left);
    return calculation_table().add(std::move(setup));
  });
}

int32_t trifuse_delete_calculation(trifuse_calculation* calculation) {
  return delete_handle(calculation, calculation_table());
}

void trifuse_set_option(trifuse_status* status, trifuse_calculation calculation, const char* name, const char* value) {
  guarded(status, [&] {
    const auto setup = checked(calculation);
    if (name == nullptr || value == nullptr) throw trifuse::UsageError("The name or the value of an option is null.");
    const trifuse::CalculationOption* const option = trifuse::find_option(trifuse::Door::library, name);
    if (option != nullptr) return set_text(*setup, *option, value);
    throw trifuse::UsageError(
        fmt::format("There is no option {}; {}", name, other_names(trifuse::Door::library, name)));
  });
}

void trifuse_set_omega2(trifuse_status* status, trifuse_calculation calculation, int64_t count, const double* omega2) {
  set_list(status, calculation, "omega2", count, omega2, "values of omega2");
}

void trifuse_set_form(trifuse_status* status, trifuse_calculation calculation, int32_t form) {
  set_word(status, calculation, "form", form);
}

void trifuse_set_rohf(trifuse_status* status, trifuse_calculation calculation, int32_t rohf) {
  set_word(status, calculation, "rohf", rohf);
}

void trifuse_set_precision(trifuse_status* status, trifuse_calculation calculation, int32_t precision) {
  set_word(status, calculation, "precision", precision);
}

void trifuse_set_target_error(trifuse_status* status, trifuse_calculation calculation, double target_error) {
  set_number(status, calculation, "target_error", target_error);
}

void trifuse_set_device(trifuse_status* status, trifuse_calculation calculation, int32_t device) {
  set_word(status, calculation, "device", device);
}

void trifuse_set_gpus(trifuse_status* status, trifuse_calculation calculation, int64_t count, const int32_t* gpus) {
  set_list(status, calculation, "gpus", count, gpus, "GPUs");
}

void trifuse_set_threads(trifuse_status* status, trifuse_calculation calculation, int64_t threads) {
  set_number(status, calculation, "threads", threads);
}

void trifuse_set_tile_size(trifuse_status* status, trifuse_calculation calculation, int64_t tile_size) {
  set_number(status, calculation, "tile_size", tile_size);
}

void trifuse_set_memory(trifuse_status* status, trifuse_calculation calculation, int64_t bytes) {
  set_by(status, calculation, "memory", [&] { return fmt::format("{}B", bytes); });  // the unit is meant
}

void trifuse_set_journal(trifuse_status* status, trifuse_calculation calculation, const char* path) {
  set_by(status, calculation, "journal", [&] { return text(path); });
}

void trifuse_set_trust_input(trifuse_status* status, trifuse_calculation calculation, int32_t trust) {
  set_flag(status, calculation, "trust_input", trust);
}

void trifuse_set_check(trifuse_status* status, trifuse_calculation calculation, int32_t check) {
  set_flag(status, calculation, "check", check);
}

void trifuse_set_progress(trifuse_status* status, trifuse_calculation calculation, trifuse_progress progress,
                          void* context) {
  guarded(status, [&] {
    const auto setup = checked(calculation);
    setup->progress = progress;
    setup->progress_context = context;
  });
}

void trifuse_set_log(trifuse_status* status, trifuse_calculation calculation, trifuse_log log, void* context) {
  guarded(status, [&] {
    const auto setup = checked(calculation);
    setup->log = log;
    setup->log_context = context;
  });
}

void trifuse::set_rank_server(trifuse_status* status, trifuse_calculation calculation, const RankServer& server,
                              const std::function<void()>& expect_ranks) {
  guarded(status, [&] {
    ranks_without_calculation() = nullptr;
    std::shared_ptr<CalculationSetup> setup;
    try {
      setup = checked(calculation);
    } catch (const BadHandle&) {
      ranks_without_calculation() = server;
      throw;
    }
    expect_ranks();
    setup->serve_ranks = server;
  });
}
