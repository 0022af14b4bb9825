#include "cxx/cuda/contraction/gpu_kernels.cuh"
#include "cxx/cuda/contraction/kernel_choice.cuh"

namespace trifuse::contraction::gpu {

const void* pipelined_kernel(const GpuPlan& plan) {
  return choose_shape<KernelKind::pipelined, is_large>(plan, [](auto shape, auto of_rows, auto of_columns) {
    return reinterpret_cast<const void*>(&contract_pipelined<shape(), of_rows(), of_columns()>);
  });
}

}
