#include "tests/gpu/kernels/other_precisions.hpp"

#include "cxx/cuda/kernel/kernel_entry.cuh"
#include "cxx/cuda/kernel/packing.cuh"
#include "tests/gpu/kernels/float_slices.cuh"

namespace trifuse::gpu {

template <typename Precision>
Kernel energies_in() {
  using Config = FmaIn<Precision>;
  return describe_kernel<Config>(Precision::name, [](SpinFormulation formulation, EnergyKind) {
    return formulation == SpinFormulation::spin_adapted ? kernel_function<SpinAdaptedEnergies<1, Config>>()
                                                        : kernel_function<SpinOrbitalEnergies<1, Config>>();
  });
}

template <typename Precision>
void pack_in(const Packing& packing, const double* raw, void* packed, cudaStream_t stream) {
  launch_packing_in<Precision>(packing, RawRows{raw}, packed, stream);
}

template Kernel energies_in<Fp32>();
template Kernel energies_in<TwoFloats>();
template void pack_in<Fp32>(const Packing&, const double*, void*, cudaStream_t);
template void pack_in<TwoFloats>(const Packing&, const double*, void*, cudaStream_t);

}
