#include "cxx/cuda/contraction/gpu_kernels.cuh"
#include "cxx/cuda/contraction/kernel_choice.cuh"

namespace trifuse::contraction::gpu {

const void* kept_kernel(const GpuPlan& plan) {
  return choose_shape<KernelKind::kept, is_any>(plan, [&](auto shape, auto of_rows, auto of_columns) {
    return plan.rows_kept ? reinterpret_cast<const void*>(&contract_kept<shape(), of_rows(), of_columns(), true>)
                          : reinterpret_cast<const void*>(&contract_kept<shape(), of_rows(), of_columns(), false>);
  });
}

}
