#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include "cxx/cuda/runtime/host_panel_provider.hpp"
#include "cxx/cuda/runtime/panel_cache.hpp"
#include "cxx/cuda/schedule/arena.hpp"
#include "cxx/cuda/schedule/device_budget.hpp"
#include "tests/gpu/gpu_test_support.hpp"
#include "tests/gpu/kernels/formula_panels.hpp"
#include "tests/support/float_slices.hpp"
#include "tests/support/small_problems.hpp"

/// A panel cache whose panels come from the host or are computed on the device, in several operand formats.
namespace trifuse::gpu {
namespace {

using namespace trifuse::testing;

constexpr OperandFormat formats[] = {format_of<Fp64>(), format_of<Fp32>(), format_of<TwoFloats>()};

class PanelProviders : public OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (!IsSkipped()) TRIFUSE_CUDA(cudaSetDevice(0));
  }

  static std::shared_ptr<HostPanelProvider> host_provider(const PanelStore& store, const Problem& problem,
                                                          const Plan& plan) {
    const std::int64_t slot = panel_demand(problem, plan.tiles, formats[0]).slot;
    return std::make_shared<HostPanelProvider>(store, std::make_shared<UploadRing>(slot, fewest_panel_slots));
  }

  /// The panels that a task reads, with operands in every format. Each name occurs once.
  static std::vector<PanelName> names_of(const Problem& problem, const Plan& plan, const Task& task) {
    std::set<PanelName> names;
    ContractionList contractions;
    TaskProgram program;
    for (const OperandFormat& format : formats) {
      write_program(problem, plan.tiles, task, format, contractions, program);
      for (const auto& product : program.products) {
        if (product.k_steps > 0) names.insert({product.a, product.b});
      }
      for (const auto& vvoo : program.vvoo) {
        if (vvoo.used) names.insert(vvoo.name);
      }
    }
    return {names.begin(), names.end()};
  }

  template <typename Precision>
  static std::vector<std::byte> bytes_in(const Packing& packing, const double* source) {
    const auto packed = packed_panel<Precision>(packing, source);
    std::vector<std::byte> bytes(packed.size() * sizeof(packed[0]));
    std::memcpy(bytes.data(), packed.data(), bytes.size());
    return bytes;
  }

  /// The packed panel that the host makes of the formula, or of the panel of the store.
  static std::vector<std::byte> expected_bytes(const PanelStore& store, const PanelName& name) {
    const TileSpace& tiles = store.layout().tiles();
    const SpinFormulation formulation = store.layout().formulation();
    if (name.key.kind == PanelKind::vvoo) {
      const Panel panel = store.acquire(name.key);
      return bytes_in<Fp64>(packing_of(tiles, formulation, name, panel.stride), panel.data);
    }
    const Packing rows = packing_of(tiles, formulation, name, 1), packing = with_row_stride(rows, rows.contracted);
    std::int64_t size = packing.contracted;
    for (int q = 0; q < 3; ++q) size *= packing.extent[q];
    const std::vector<double> panel = FormulaPanelProvider::panel(name.key, size);
    if (name.format == format_of<Fp32>()) return bytes_in<Fp32>(packing, panel.data());
    if (name.format == format_of<TwoFloats>()) return bytes_in<TwoFloats>(packing, panel.data());
    return bytes_in<Fp64>(packing, panel.data());
  }

  /// Acquires the panels of one task after the other, and compares their bytes.
  static void expect_panels(PanelCache& cache, const PanelStore& store, const Problem& problem, const Plan& plan) {
    const Stream stream;
    std::vector<const std::byte*> pointers;
    for (const Task& task : plan.tasks) {
      const std::vector<PanelName> names = names_of(problem, plan, task);
      ASSERT_TRUE(cache.acquire(names, pointers, stream));
      TRIFUSE_CUDA(cudaStreamSynchronize(stream));
      for (std::size_t n = 0; n < names.size(); ++n) {
        const std::vector<std::byte> expected = expected_bytes(store, names[n]);
        std::vector<std::byte> found(expected.size());
        TRIFUSE_CUDA(cudaMemcpy(found.data(), pointers[n], found.size(), cudaMemcpyDeviceToHost));
        ASSERT_EQ(std::ssize(found), packed_bytes(plan.tiles, plan.formulation, names[n]));
        EXPECT_TRUE(found == expected) << "panel " << n << " in " << names[n].format.name;
      }
      cache.release(names);
    }
  }
};

TEST_F(PanelProviders, MayComputePanelsOnTheDevice) {
  for_each_small_problem([](const Problem& problem, const Plan& plan) {
    const PanelStore store(problem, plan.tiles);
    const auto formula = std::make_shared<FormulaPanelProvider>();
    const auto host = host_provider(store, problem, plan);
    PanelCache cache(plan.tiles, plan.formulation, std::int64_t{1} << 30, {formula, host});
    expect_panels(cache, store, problem, plan);
    // Every panel is an entry of its own in each format. The host sends vvoo blocks, once.
    std::set<PanelName> computed, sent;
    for (const Task& task : plan.tasks) {
      for (const PanelName& name : names_of(problem, plan, task)) {
        (name.key.kind == PanelKind::vvoo ? sent : computed).insert(name);
      }
    }
    EXPECT_EQ(cache.produced_by(*formula).panels, std::ssize(computed));
    EXPECT_EQ(cache.produced_by(*formula).bytes, 0);
    EXPECT_EQ(cache.produced_by(*host).panels, std::ssize(sent));
    EXPECT_GT(cache.produced_by(*host).bytes, 0);
    EXPECT_EQ(cache.statistics().evicted, 0);
  });
}

TEST_F(PanelProviders, ComputePanelsAgainThatWereEvicted) {
  for_each_small_problem([](const Problem& problem, const Plan& plan) {
    const PanelStore store(problem, plan.tiles);
    const auto formula = std::make_shared<FormulaPanelProvider>();
    const auto host = host_provider(store, problem, plan);
    // Memory for the panels of the largest task, with gaps between them.
    std::int64_t largest = 0;
    for (const Task& task : plan.tasks) {
      std::int64_t bytes = 0;
      for (const PanelName& name : names_of(problem, plan, task)) {
        bytes += Arena::rounded(packed_bytes(plan.tiles, plan.formulation, name));
      }
      largest = std::max(largest, bytes);
    }
    PanelCache cache(plan.tiles, plan.formulation, largest, {formula, host});
    expect_panels(cache, store, problem, plan);
    EXPECT_GT(cache.statistics().evicted, 0);
    EXPECT_LE(cache.statistics().max_bytes, largest);
  });
}

}
}
