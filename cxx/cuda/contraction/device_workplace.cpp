#include "cxx/cuda/contraction/device_workplace.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/cuda/contraction/gpu_contraction.hpp"
#include "cxx/cuda/contraction/host_contraction.hpp"
#include "cxx/cuda/runtime/current_device.hpp"
#include "cxx/cuda/runtime/device_memory.hpp"
#include "cxx/cuda/runtime/devices.hpp"
#include "cxx/cuda/runtime/staged_copy.hpp"

namespace trifuse::contraction {

namespace {

using trifuse::gpu::CurrentDevice;
using trifuse::gpu::DeviceArray;
using trifuse::gpu::Stream;

/// Returns the number of elements from the one at offset 0 to the last one, gaps included.
std::int64_t span_of(const Contraction& contraction, Tensor tensor) {
  std::int64_t last = 0;
  for (const Index& index : contraction.indices) last += (index.extent - 1) * index.stride[tensor];
  return last + 1;
}

class OneGpu final : public Workplace {
 public:
  OneGpu(int device, int threads) : device_(device), threads_(threads) {
    const CurrentDevice current(device_);
    stream_ = std::make_unique<Stream>();
  }
  ~OneGpu() override {
    const CurrentDevice current(device_);
    copies_.clear();
    stream_.reset();
  }

  void add(const Contraction& contraction, double factor, const double* a, const double* b, double* c) override {
    if (contraction.empty_result() || contraction.empty_sum()) return;
    const CurrentDevice current(device_);
    in_use_.clear();
    try {
      const double* const at_a = copy_of(a, span_of(contraction, A));
      const double* const at_b = copy_of(b, span_of(contraction, B));
      double* const at_c = copy_of(c, span_of(contraction, C));
      GpuContraction term(contraction, device_);  // allocates memory, too; start() does not
      term.start(factor, at_a, at_b, 1.0, at_c, *stream_);
      // The destructor of the term waits until it has been computed. So no copy is in use between terms.
      copies_.find(in_use_.back())->second.newer = true;
      in_use_.clear();
    } catch (const DeviceMemoryError&) {
      in_use_.clear();
      drop(true);
      HostContraction(contraction, {device_}, 0, threads_).run(factor, a, b, 1.0, c);
    }
  }

  void set_to_zero(double* first, std::int64_t size) override {
    if (size == 0) return;
    const CurrentDevice current(device_);
    forget(first);
    try {
      Copy copy{DeviceArray<double>(), size, true};
      allocate(copy.memory, size);
      TRIFUSE_CUDA(cudaMemsetAsync(copy.memory.data(), 0, static_cast<std::size_t>(size) * sizeof(double), *stream_));
      copies_.emplace(first, std::move(copy));
    } catch (const DeviceMemoryError&) {
      std::fill_n(first, size, 0.0);
    }
  }

  void finish(double* first, std::int64_t size) override {
    const auto found = copies_.find(first);
    if (found == copies_.end()) return;
    if (found->second.size != size) throw std::logic_error("An array on a GPU has another size than on the host.");
    const CurrentDevice current(device_);
    write_back(*found);
    copies_.erase(found);
  }

  void forget(const double* first) override {
    const auto found = copies_.find(first);
    if (found == copies_.end()) return;
    const CurrentDevice current(device_);
    TRIFUSE_CUDA(cudaStreamSynchronize(*stream_));  // it may still be set to zero
    copies_.erase(found);
  }

  bool is_host() const override { return false; }

 private:
  /// An array on the GPU.
  struct Copy {
    DeviceArray<double> memory;
    std::int64_t size;
    bool newer;  ///< the memory of the host has old elements
  };
  using Copies = std::map<const double*, Copy>;

  /// Returns the elements on the GPU. They stay there until the end of the term.
  double* copy_of(const double* first, std::int64_t size) {
    auto found = copies_.upper_bound(first);
    if (found != copies_.begin()) {
      --found;
      const std::int64_t before = first - found->first;
      if (before + size <= found->second.size) {
        in_use_.push_back(found->first);
        return found->second.memory.data() + before;
      }
    }
    forget_parts_of(first, size);
    Copy copy{DeviceArray<double>(), size, false};
    allocate(copy.memory, size);
    std::vector<trifuse::gpu::UploadPart> parts;
    for (std::int64_t begin = 0; begin < size; begin += trifuse::gpu::usual_part) {
      const std::int64_t length = std::min(trifuse::gpu::usual_part, size - begin);
      parts.push_back({copy.memory.data() + begin, length,
                       [from = first + begin](std::span<double> to) { std::copy_n(from, to.size(), to.data()); }});
    }
    trifuse::gpu::upload(parts, threads_);
    double* const memory = copy.memory.data();
    copies_.emplace(first, std::move(copy));
    in_use_.push_back(first);
    return memory;
  }

  /// Forgets the copies of other parts of the same array.
  void forget_parts_of(const double* first, std::int64_t size) {
    for (auto copy = copies_.begin(); copy != copies_.end();) {
      const bool apart = copy->first + copy->second.size <= first || first + size <= copy->first;
      if (!apart) write_back(*copy);
      copy = apart ? std::next(copy) : copies_.erase(copy);
    }
  }

  /// Makes room on the GPU, if necessary by writing back arrays that the term does not use.
  void allocate(DeviceArray<double>& memory, std::int64_t size) {
    for (const bool newer : {false, true}) {
      try {
        return memory.reserve(static_cast<std::size_t>(size));
      } catch (const DeviceMemoryError&) {
        drop(newer);
      }
    }
    memory.reserve(static_cast<std::size_t>(size));
  }

  /// Drops copies that the term does not use. `newer`: also those that must be written back.
  void drop(bool newer) {
    for (auto copy = copies_.begin(); copy != copies_.end();) {
      const bool used = std::find(in_use_.begin(), in_use_.end(), copy->first) != in_use_.end();
      if (used || (copy->second.newer && !newer)) {
        ++copy;
        continue;
      }
      write_back(*copy);
      copy = copies_.erase(copy);
    }
  }

  void write_back(Copies::value_type& copy) {
    auto& [first, of] = copy;
    TRIFUSE_CUDA(cudaStreamSynchronize(*stream_));
    if (!of.newer) return;
    const std::span<double> host(const_cast<double*>(first), static_cast<std::size_t>(of.size));
    trifuse::gpu::download(of.memory.data(), std::as_writable_bytes(host), threads_);
    of.newer = false;
  }

  int device_, threads_;
  std::unique_ptr<Stream> stream_;
  Copies copies_;                      ///< by the memory of the host
  std::vector<const double*> in_use_;  ///< arrays of the present term
};

}

std::shared_ptr<Workplace> device_as_workplace(int device, int threads) {
  return std::make_shared<OneGpu>(device, threads);
}

}
