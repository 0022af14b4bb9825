#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>

#include "cxx/base/error.hpp"
#include "cxx/calculation.hpp"
#include "fortran_iface/trifuse.h"
#include "tce_tiles/open_source.hpp"
#include "trifuse_config.hpp"

namespace {

// Tags at the head of what handles point to; a deleted object loses its tag.
constexpr std::uint64_t amplitudes_tag = 0x5452494655534541u;
constexpr std::uint64_t calculation_tag = 0x5452494655534543u;

void set(trifuse_status* status, trifuse_code code, const std::string& message) {
  if (status == nullptr) return;
  status->code = code;
  const std::size_t length = std::min<std::size_t>(message.size(), TRIFUSE_MESSAGE_LENGTH - 1);
  std::memcpy(status->message, message.data(), length);
  status->message[length] = '\0';
}

class BadHandle : public trifuse::Error {
 public:
  using Error::Error;
};

/// Runs `body`, turning what it throws into a status; returns `failed` then.
template <typename Body, typename Result = std::invoke_result_t<Body>>
Result guarded(trifuse_status* status, Result failed, Body body) {
  set(status, TRIFUSE_SUCCESS, "");
  try {
    return body();
  } catch (const BadHandle& error) {
    set(status, TRIFUSE_BAD_HANDLE, error.what());
  } catch (const trifuse::InputError& error) {
    set(status, TRIFUSE_BAD_INPUT, error.what());
  } catch (const trifuse::UsageError& error) {
    set(status, TRIFUSE_BAD_USAGE, error.what());
  } catch (const trifuse::SystemError& error) {
    set(status, TRIFUSE_BAD_SYSTEM, error.what());
  } catch (const std::bad_alloc&) {
    set(status, TRIFUSE_BAD_SYSTEM, "There is not enough memory for the amplitudes and integrals.");
  } catch (const std::exception& error) {
    set(status, TRIFUSE_FAILED, error.what());
  } catch (...) {
    set(status, TRIFUSE_FAILED, "An unknown error occurred.");
  }
  return failed;
}

template <typename Body>
void guarded(trifuse_status* status, Body body) {
  guarded(status, 0, [&] {
    body();
    return 0;
  });
}

}  // namespace

struct trifuse_amplitudes_handle {
  std::uint64_t tag = amplitudes_tag;
  std::unique_ptr<trifuse::TileSource> source;
  std::optional<double> correlation_energy;
};

struct trifuse_calculation_handle {
  std::uint64_t tag = calculation_tag;
  trifuse_amplitudes right = nullptr, left = nullptr;
  trifuse::CalculationOptions options;
  trifuse::CalculationResult result;
};

namespace {

trifuse_amplitudes_handle& checked(trifuse_amplitudes handle) {
  if (handle == nullptr || handle->tag != amplitudes_tag) {
    throw BadHandle("This is not a handle of amplitudes; open them with trifuse_open_amplitudes.");
  }
  return *handle;
}

trifuse_calculation_handle& checked(trifuse_calculation handle) {
  if (handle == nullptr || handle->tag != calculation_tag) {
    throw BadHandle("This is not a handle of a calculation; make one with trifuse_new_calculation.");
  }
  return *handle;
}

/// A handle that is null or of another type is left alone: there is nothing of ours to delete.
template <typename Handle>
void delete_handle(Handle* handle, std::uint64_t tag) {
  if (handle == nullptr || *handle == nullptr || (*handle)->tag != tag) return;
  (*handle)->tag = 0;
  delete *handle;
  *handle = nullptr;
}

std::string text(const char* path) {
  if (path == nullptr) throw trifuse::UsageError("A path is needed, but it is null.");
  return path;
}

/// `right` null: integrals are in the same source.
trifuse_amplitudes open(const char* path, const trifuse_amplitudes_handle* right) {
  trifuse::NwchemLocation location;
  location.prefix = text(path);
  location.integrals_needed = right == nullptr;
  auto handle = std::make_unique<trifuse_amplitudes_handle>();
  handle->source = trifuse::open_source(location);
  handle->correlation_energy =
      trifuse::verify_source(*handle->source, right == nullptr ? *handle->source : *right->source);
  return handle.release();
}

}  // namespace

const char* trifuse_version(void) {
  return trifuse::version;
}

int64_t trifuse_features(void) {
  return (trifuse::has_cuda ? TRIFUSE_FEATURE_CUDA : 0) | (trifuse::has_mpi ? TRIFUSE_FEATURE_MPI : 0) |
         (trifuse::has_fortran ? TRIFUSE_FEATURE_FORTRAN : 0);
}

trifuse_amplitudes trifuse_open_amplitudes(trifuse_status* status, const char* path) {
  return guarded(status, trifuse_amplitudes{}, [&] { return open(path, nullptr); });
}

trifuse_amplitudes trifuse_open_left_amplitudes(trifuse_status* status, const char* path, trifuse_amplitudes right) {
  return guarded(status, trifuse_amplitudes{}, [&] { return open(path, &checked(right)); });
}

double trifuse_correlation_energy(trifuse_status* status, trifuse_amplitudes amplitudes) {
  return guarded(status, 0.0, [&] {
    const auto& handle = checked(amplitudes);
    if (!handle.correlation_energy) {
      throw trifuse::UsageError("These amplitudes have no CCSD energy: they are left-hand ones, or lack integrals.");
    }
    return *handle.correlation_energy;
  });
}

void trifuse_delete_amplitudes(trifuse_amplitudes* amplitudes) {
  delete_handle(amplitudes, amplitudes_tag);
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
    const trifuse::TileSource* left = handle.left == nullptr ? nullptr : checked(handle.left).source.get();
    handle.result = trifuse::Calculation(*checked(handle.right).source, left, handle.options).run();
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
