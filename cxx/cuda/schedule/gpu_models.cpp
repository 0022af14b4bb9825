#include "cxx/cuda/schedule/gpu_models.hpp"

#include <array>

namespace trifuse::gpu {

namespace {

constexpr double tera = 1e12, giga = 1e9;

/// Fractions of the FP16 peak that m16n8k16 reaches. On Hopper 566 to 600 of 989 TF/s were measured; only other
/// instructions reach the peak. This is also true for the B200, so the same fraction is assumed for it.
constexpr double share_of_mma = 0.6, full = 1.0;
/// Rates of links. The rate of PCI Express 5 was measured on an H200. PCI Express 4 has about half of it.
constexpr double pcie5 = 55 * giga, pcie4 = 25 * giga;

// Sources, all of NVIDIA: h200, h100: data sheets of H200 and H100 (SXM; PCIe); h100-pcie: NVIDIA H100 Tensor Core GPU
// Architecture, table 3. a100: data sheet of A100 (SXM, 80 GB and 40 GB). l40s: data sheet of L40S; FP64 is 1/64 of
// FP32 on GPUs of compute capability 8.6, 8.9 and 12. rtx4090: NVIDIA Ada GPU Architecture, appendix A: 165.2 TF/s with
// FP32 sums, half of the rate with FP16 sums. rtx5090: NVIDIA RTX Blackwell GPU Architecture, appendix A: 209.5 TF/s
// with FP32 sums. a6000: NVIDIA Ampere GA102 GPU Architecture, appendix A (RTX A6000). b200: data sheet of HGX B200, an
// eighth of its rates. gb10: data sheet of DGX Spark and Hot Chips 2025: 31 TF/s of FP32, 1000 TF/s of FP4 with
// sparsity, an eighth of which is the FP16 rate without; 128 GB that the host uses, too. A copy reads and writes the
// memory, so the link has half of the memory's rate. Free memory was measured on an H200, an H100 and A100s. For other
// models it is the memory that their drivers report, minus half a gigabyte.
constexpr std::array models = {
    GpuModel{"h200", "H200", 132, 66.9 * tera, 33.5 * tera, 66.9 * tera, 989.4 * tera, share_of_mma, true, 138.5,
             4.8 * tera, pcie5},
    GpuModel{"h100-pcie", "H100 PCIe", 114, 51.2 * tera, 25.6 * tera, 51.2 * tera, 756 * tera, share_of_mma, true, 78.5,
             2.04 * tera, pcie5},
    GpuModel{"h100", "H100", 132, 66.9 * tera, 33.5 * tera, 66.9 * tera, 989.4 * tera, share_of_mma, true, 78.5,
             3.35 * tera, pcie5},
    GpuModel{"a100-40gb", "A100-SXM4-40GB", 108, 19.5 * tera, 9.7 * tera, 19.5 * tera, 312 * tera, full, false, 38.9,
             1.555 * tera, pcie4},
    GpuModel{"a100", "A100", 108, 19.5 * tera, 9.7 * tera, 19.5 * tera, 312 * tera, full, false, 78.5, 2.04 * tera,
             pcie4},
    GpuModel{"b200", "B200", 148, 37 * tera, 37 * tera, 75 * tera, 2250 * tera, share_of_mma, false, 178, 8 * tera,
             pcie5},
    GpuModel{"gb10", "GB10", 48, 0.48 * tera, 0.48 * tera, 31 * tera, 125 * tera, full, false, 110, 273 * giga,
             136 * giga},
    GpuModel{"l40s", "L40S", 142, 1.43 * tera, 1.43 * tera, 91.6 * tera, 362 * tera, full, false, 44.4, 864 * giga,
             pcie4},
    GpuModel{"a6000", "RTX A6000", 84, 0.605 * tera, 0.605 * tera, 38.7 * tera, 154.8 * tera, full, false, 47.5,
             768 * giga, pcie4},
    GpuModel{"rtx4090", "RTX 4090", 128, 1.29 * tera, 1.29 * tera, 82.6 * tera, 165.2 * tera, full, false, 23.5,
             1008 * giga, pcie4},
    GpuModel{"rtx5090", "RTX 5090", 170, 1.64 * tera, 1.64 * tera, 104.8 * tera, 209.5 * tera, full, false, 31.3,
             1792 * giga, pcie5},
};

}

std::span<const GpuModel> gpu_models() {
  return models;
}

const GpuModel* gpu_model_of(std::string_view device_name) {
  for (const GpuModel& model : models) {
    const std::size_t at = device_name.find(model.device_name);
    if (at == std::string_view::npos) continue;
    // A longer name belongs to another model, e.g. "RTX 4090 D" or "RTX 5090 Laptop GPU". But the name of a data-centre
    // GPU may end with the kind of board.
    const std::string_view rest = device_name.substr(at + std::string_view(model.device_name).size());
    if (rest.empty() || rest.front() == '-' || rest.starts_with(" 80GB") || rest.starts_with(" HBM3")) return &model;
  }
  return nullptr;
}

KernelRates kernel_rates(const GpuModel& model) {
  const GpuModel& h200 = models.front();
  return {measured_in_double.spin_adapted * model.fp64_matrix / h200.fp64_matrix,
          mixed_kernel(model).rate.spin_adapted * model.mixed_peak() / h200.mixed_peak()};
}

}
