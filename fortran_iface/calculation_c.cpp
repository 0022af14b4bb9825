#include "cxx/choose_devices.hpp"
#include "fortran_iface/handles.hpp"
#include "trifuse_config.hpp"

using namespace trifuse::c_interface;

const char* trifuse_version(void) {
  return trifuse::version;
}

int64_t trifuse_features(void) {
  return (trifuse::has_cuda ? TRIFUSE_FEATURE_CUDA : 0) | (trifuse::has_mpi ? TRIFUSE_FEATURE_MPI : 0) |
         (trifuse::has_fortran ? TRIFUSE_FEATURE_FORTRAN : 0);
}

trifuse_calculation trifuse_new_calculation(trifuse_status* status, trifuse_amplitudes right, trifuse_amplitudes left) {
  return guarded(status, trifuse_calculation{}, [&] {
    checked(right);
    if (left != nullptr) checked(left);
    auto handle = std::make_unique<trifuse_calculation_handle>();
    handle->right = right;
    handle->left = left;
    return handle.release();
  });
}

void trifuse_delete_calculation(trifuse_calculation* calculation) {
  delete_handle(calculation, calculation_tag);
}

void trifuse_set_omega2(trifuse_status* status, trifuse_calculation calculation, int64_t count, const double* omega2) {
  guarded(status, [&] {
    auto& options = checked(calculation).options;
    if (count < 1 || omega2 == nullptr) throw trifuse::UsageError("At least one value of omega2 is needed.");
    options.omega2.assign(omega2, omega2 + count);
  });
}

void trifuse_set_form(trifuse_status* status, trifuse_calculation calculation, int32_t form) {
  guarded(status, [&] {
    auto& options = checked(calculation).options;
    switch (form) {
      case TRIFUSE_FORM_AUTO:
        options.form.reset();
        return;
      case TRIFUSE_FORM_SPIN_ORBITAL:
        options.form = trifuse::Form::spin_orbital;
        return;
      case TRIFUSE_FORM_SPIN_ADAPTED:
        options.form = trifuse::Form::spin_adapted;
        return;
      default:
        throw trifuse::UsageError("The form must be one of the values of trifuse_form.");
    }
  });
}

void trifuse_set_rohf(trifuse_status* status, trifuse_calculation calculation, int32_t rohf) {
  guarded(status, [&] {
    auto& options = checked(calculation).options;
    if (rohf != TRIFUSE_ROHF_NWCHEM && rohf != TRIFUSE_ROHF_SEMICANONICAL) {
      throw trifuse::UsageError("The kind of ROHF energy must be one of the values of trifuse_rohf.");
    }
    options.rohf = rohf == TRIFUSE_ROHF_NWCHEM ? trifuse::RohfOrbitals::nwchem : trifuse::RohfOrbitals::semicanonical;
  });
}

void trifuse_set_device(trifuse_status* status, trifuse_calculation calculation, int32_t device) {
  guarded(status, [&] {
    auto& handle = checked(calculation);
    if (device < TRIFUSE_DEVICE_AUTO || device > TRIFUSE_DEVICE_CUDA) {
      throw trifuse::UsageError("The device must be one of the values of trifuse_device.");
    }
    if (device == TRIFUSE_DEVICE_CUDA) trifuse::choose_devices(trifuse::visible_devices(), {});
    handle.choose_executor = device == TRIFUSE_DEVICE_AUTO;
    handle.options.executor = device == TRIFUSE_DEVICE_CUDA ? trifuse::ExecutorKind::cuda : trifuse::ExecutorKind::cpu;
    handle.options.devices.clear();
    handle.options.devices_required = device == TRIFUSE_DEVICE_CUDA;
  });
}

void trifuse_set_gpus(trifuse_status* status, trifuse_calculation calculation, int64_t count, const int32_t* gpus) {
  guarded(status, [&] {
    auto& handle = checked(calculation);
    if (count < 1 || gpus == nullptr) throw trifuse::UsageError("At least one number of a GPU is needed.");
    const std::vector<int> numbers(gpus, gpus + count);
    trifuse::choose_devices(trifuse::visible_devices(), numbers);
    handle.choose_executor = false;
    handle.options.executor = trifuse::ExecutorKind::cuda;
    handle.options.devices = numbers;
    handle.options.devices_required = true;
  });
}

void trifuse_set_threads(trifuse_status* status, trifuse_calculation calculation, int64_t threads) {
  guarded(status, [&] {
    auto& options = checked(calculation).options;
    if (threads < 1 || threads > 4096) throw trifuse::UsageError("The number of threads must be 1 to 4096.");
    options.threads = static_cast<int>(threads);
  });
}

void trifuse_set_tile_size(trifuse_status* status, trifuse_calculation calculation, int64_t tile_size) {
  guarded(status, [&] {
    auto& options = checked(calculation).options;
    if (tile_size < 1) throw trifuse::UsageError("The tile size must be 1 or more.");
    options.tile_size = tile_size;
  });
}

void trifuse_set_memory(trifuse_status* status, trifuse_calculation calculation, int64_t bytes) {
  guarded(status, [&] {
    auto& options = checked(calculation).options;
    if (bytes < 1) throw trifuse::UsageError("The memory must be 1 byte or more.");
    options.memory = bytes;
  });
}

void trifuse_set_journal(trifuse_status* status, trifuse_calculation calculation, const char* path) {
  guarded(status, [&] { checked(calculation).options.journal = text(path); });
}

void trifuse_run(trifuse_status* status, trifuse_calculation calculation) {
  guarded(status, [&] {
    auto& handle = checked(calculation);
    handle.result = {};
    auto& right = checked(handle.right);
    verify(right, right);
    const trifuse::TileSource* left = nullptr;
    if (handle.left != nullptr) {
      verify(checked(handle.left), right);
      left = handle.left->source.get();
    }
    trifuse::CalculationOptions options = handle.options;
    if (handle.choose_executor) options.executor = trifuse::choose_executor(right.source->tiles(), options.form);
    handle.result = trifuse::Calculation(*right.source, left, options).run();
  });
}

int64_t trifuse_energy_count(trifuse_status* status, trifuse_calculation calculation) {
  return guarded(status, int64_t{0}, [&] { return static_cast<int64_t>(checked(calculation).result.energies.size()); });
}

void trifuse_get_energy(trifuse_status* status, trifuse_calculation calculation, int64_t index, double* omega2,
                        double* bracket_energy, double* paren_energy) {
  guarded(status, [&] {
    const auto& energies = checked(calculation).result.energies;
    if (index < 0 || index >= static_cast<int64_t>(energies.size())) {
      throw trifuse::UsageError("There is no energy of this number; run the calculation first and count from 0.");
    }
    const trifuse::TriplesEnergy& energy = energies[static_cast<std::size_t>(index)];
    if (omega2 != nullptr) *omega2 = energy.omega2;
    if (bracket_energy != nullptr) *bracket_energy = energy.total.bracket;
    if (paren_energy != nullptr) *paren_energy = energy.total.paren;
  });
}
