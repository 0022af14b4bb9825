#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cxx/base/threads.hpp"
#include "cxx/cuda/runtime/choose_devices.hpp"
#include "fortran_iface/handles.hpp"
#include "trifuse_config.hpp"

using namespace trifuse::c_interface;

namespace {

/// Changes the options of a calculation by `change(options)`. If the result is not allowed, the options do not change.
template <typename Change>
void change_options(trifuse_status* status, trifuse_calculation calculation, Change change) {
  guarded(status, [&] {
    const auto setup = checked(calculation);
    trifuse::CalculationOptions options = setup->options;
    change(options);
    trifuse::check_options(options);
    setup->options = std::move(options);
  });
}

/// Copies a list of the caller. Throws UsageError, without reading the list, if it is null or if it has less than one
/// or more than `most` elements. `what`: name of the elements.
template <typename Number>
std::vector<Number> list(const Number* numbers, std::int64_t count, std::size_t most, const char* what) {
  if (numbers == nullptr || count < 1 || count > static_cast<std::int64_t>(most)) {
    throw trifuse::UsageError(fmt::format("{} {} were given{}; 1 to {} are possible.", count, what,
                                          numbers == nullptr ? ", which are null" : "", most));
  }
  return {numbers, numbers + count};
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
  guarded(status, [] { trifuse::release_kept_device_memory(); });
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

void trifuse_set_omega2(trifuse_status* status, trifuse_calculation calculation, int64_t count, const double* omega2) {
  change_options(status, calculation, [&](trifuse::CalculationOptions& options) {
    options.omega2 = list(omega2, count, trifuse::max_omega2, "values of omega2");
  });
}

void trifuse_set_form(trifuse_status* status, trifuse_calculation calculation, int32_t form) {
  change_options(status, calculation, [&](trifuse::CalculationOptions& options) {
    switch (form) {
      case TRIFUSE_FORM_AUTO:
        options.formulation.reset();
        return;
      case TRIFUSE_FORM_SPIN_ORBITAL:
        options.formulation = trifuse::SpinFormulation::spin_orbital;
        return;
      case TRIFUSE_FORM_SPIN_ADAPTED:
        options.formulation = trifuse::SpinFormulation::spin_adapted;
        return;
      default:
        throw trifuse::UsageError("The form must be one of the values of trifuse_form.");
    }
  });
}

void trifuse_set_rohf(trifuse_status* status, trifuse_calculation calculation, int32_t rohf) {
  change_options(status, calculation, [&](trifuse::CalculationOptions& options) {
    if (rohf != TRIFUSE_ROHF_NWCHEM && rohf != TRIFUSE_ROHF_SEMICANONICAL) {
      throw trifuse::UsageError("The kind of ROHF energy must be one of the values of trifuse_rohf.");
    }
    options.rohf = rohf == TRIFUSE_ROHF_NWCHEM ? trifuse::RohfOrbitals::nwchem : trifuse::RohfOrbitals::semicanonical;
  });
}

void trifuse_set_precision(trifuse_status* status, trifuse_calculation calculation, int32_t precision) {
  change_options(status, calculation, [&](trifuse::CalculationOptions& options) {
    if (precision != TRIFUSE_PRECISION_DOUBLE && precision != TRIFUSE_PRECISION_MIXED) {
      throw trifuse::UsageError("The precision must be one of the values of trifuse_precision.");
    }
    options.precision = precision == TRIFUSE_PRECISION_MIXED ? trifuse::Precision::mixed : trifuse::Precision::fp64;
    if (options.precision == trifuse::Precision::fp64) options.target_error.reset();
  });
}

void trifuse_set_target_error(trifuse_status* status, trifuse_calculation calculation, double target_error) {
  change_options(status, calculation,
                 [&](trifuse::CalculationOptions& options) { options.target_error = target_error; });
}

void trifuse_set_device(trifuse_status* status, trifuse_calculation calculation, int32_t device) {
  guarded(status, [&] {
    const auto setup = checked(calculation);
    CalculationSetup& handle = *setup;
    if (device < TRIFUSE_DEVICE_AUTO || device > TRIFUSE_DEVICE_CUDA) {
      throw trifuse::UsageError("The device must be one of the values of trifuse_device.");
    }
    if (device == TRIFUSE_DEVICE_CUDA) trifuse::choose_devices(trifuse::visible_devices(), {});
    handle.choose_executor = device == TRIFUSE_DEVICE_AUTO;
    handle.options.executor = device == TRIFUSE_DEVICE_CUDA ? trifuse::ExecutorKind::cuda : trifuse::ExecutorKind::cpu;
    if (device != TRIFUSE_DEVICE_AUTO) handle.options.devices.clear();
    handle.options.devices_required = device == TRIFUSE_DEVICE_CUDA;
  });
}

void trifuse_set_gpus(trifuse_status* status, trifuse_calculation calculation, int64_t count, const int32_t* gpus) {
  guarded(status, [&] {
    const auto setup = checked(calculation);
    CalculationSetup& handle = *setup;
    const std::vector<int> numbers = list(gpus, count, trifuse::max_devices, "GPUs");
    trifuse::choose_devices(trifuse::visible_devices(), numbers);
    handle.choose_executor = false;
    handle.options.executor = trifuse::ExecutorKind::cuda;
    handle.options.devices = numbers;
    handle.options.devices_required = true;
  });
}

void trifuse_set_threads(trifuse_status* status, trifuse_calculation calculation, int64_t threads) {
  change_options(status, calculation, [&](trifuse::CalculationOptions& options) {
    if (threads < 1 || threads > trifuse::max_threads) {
      throw trifuse::UsageError(
          fmt::format("{} threads are not possible; give 1 to {}.", threads, trifuse::max_threads));
    }
    options.threads = static_cast<int>(threads);
  });
}

void trifuse_set_tile_size(trifuse_status* status, trifuse_calculation calculation, int64_t tile_size) {
  change_options(status, calculation, [&](trifuse::CalculationOptions& options) { options.tile_size = tile_size; });
}

void trifuse_set_memory(trifuse_status* status, trifuse_calculation calculation, int64_t bytes) {
  change_options(status, calculation, [&](trifuse::CalculationOptions& options) { options.memory = bytes; });
}

void trifuse_set_journal(trifuse_status* status, trifuse_calculation calculation, const char* path) {
  change_options(status, calculation, [&](trifuse::CalculationOptions& options) { options.journal = text(path); });
}

void trifuse_set_trust_input(trifuse_status* status, trifuse_calculation calculation, int32_t trust) {
  change_options(status, calculation, [&](trifuse::CalculationOptions& options) {
    // Another value comes from uninitialised memory.
    if (trust != 0 && trust != 1) throw trifuse::UsageError(fmt::format("trust must be 0 or 1; it is {}.", trust));
    options.trust_input = trust == 1;
  });
}

void trifuse_set_check(trifuse_status* status, trifuse_calculation calculation, int32_t check) {
  guarded(status, [&] {
    const auto setup = checked(calculation);
    // Another value comes from uninitialised memory.
    if (check != 0 && check != 1) throw trifuse::UsageError(fmt::format("check must be 0 or 1; it is {}.", check));
    setup->check = check == 1;
  });
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
