#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cxx/plan/plan.hpp"
#include "cxx/prediction/kernel_work.hpp"
#include "cxx/triples/problem.hpp"

namespace trifuse {

/// The work that a plan gives to GPUs: the kernel work and the panels of each task, and the bytes of each panel. It
/// depends only on the tiles and the number of auxiliary functions of factors. It takes about 250 bytes of memory for
/// each task.
class Inspection {
 public:
  /// Inspects all tasks of `plan`. It uses only the formulation of `problem`, the number of its sides, and its sets of
  /// disconnected triples; it reads no amplitudes. `shapes`: the shapes of the kernels among which a run chooses, at
  /// least one. All of them must have the same operand format. Throws UsageError as KernelWorkModel::work() does.
  Inspection(const Plan& plan, const Problem& problem, std::span<const gpu::Shape> shapes = gpu::BulkKernels::shapes);
  /// Inspects all tasks for a run in this precision. In mixed precision it also inspects the sample in double
  /// precision. A run chooses the sample by energies; this function assumes energies in proportion to the operations of
  /// tasks.
  Inspection(const Plan& plan, const Problem& problem, Precision precision);

  /// Returns the precision of the operands.
  Precision precision() const;
  /// A part of the plan that is computed again in double precision, and its inspection.
  struct Sample;
  /// Returns the sample of mixed precision; null in double precision.
  const Sample* sample() const { return sample_.get(); }

  /// Returns the first of the shapes. All shapes have its operand format and as many elements in a CTA tile.
  const gpu::Shape& shape() const { return shape_; }

  /// Returns the number of tasks.
  std::size_t tasks() const { return kind_.size(); }
  /// Returns the kernel work of a task; `task` is its number in the plan.
  const KernelWork& work(std::size_t task) const { return kinds_[kind_[task]]; }
  /// Returns the kind of a task, from 0. Tasks of the same kind have equal work.
  std::uint32_t kind(std::size_t task) const { return kind_[task]; }
  /// Returns work[kind], the kernel work of a task of each kind.
  std::span<const KernelWork> kinds() const { return kinds_; }
  /// Returns the numbers of the panels that a task reads, without repetitions. Panels are numbered from 0.
  std::span<const std::uint32_t> panels(std::size_t task) const;

  /// Returns the number of different panels of the plan.
  std::size_t panel_count() const { return sent_.size(); }
  /// bytes_sent() returns the bytes that go from host to device for a panel; bytes_on_device() returns the size of the
  /// panel on the device, with padding. If the device makes the panel from factors, only its amplitudes are sent.
  double bytes_sent(std::uint32_t panel) const { return sent_[panel]; }
  double bytes_on_device(std::uint32_t panel) const { return on_device_[panel]; }
  /// Returns the sum of bytes_on_device() over all panels.
  double all_bytes_on_device() const;
  /// Returns the number of different slabs of factors; 0 if the integrals have no factors.
  std::size_t slab_count() const { return slab_bytes_.size(); }
  /// Returns the size of a slab, bytes. Slabs are numbered from 0.
  double slab_bytes(std::uint32_t slab) const { return slab_bytes_[slab]; }
  /// Returns the numbers of the slabs from which the device makes a panel; none if the panel is sent as a whole.
  std::span<const std::uint32_t> slabs(std::uint32_t panel) const;
  /// Returns the floating-point operations that make a panel from slabs; 0 if the panel is sent as a whole.
  double making(std::uint32_t panel) const { return making_[panel]; }
  /// Returns the floating-point operations that make each panel once.
  double all_making() const;
  /// Returns the size on the device of all panels that are sent as a whole, bytes.
  double all_bytes_on_device_of_sent() const;
  /// Returns the size on the device of all panels of the task that needs most, bytes.
  double largest_task_bytes() const { return largest_task_; }

 private:
  gpu::Shape shape_;
  std::vector<KernelWork> kinds_;
  std::vector<std::uint32_t> kind_;         ///< [task]
  std::vector<std::uint64_t> panel_begin_;  ///< [task + 1] index in panels_; one element more than tasks
  std::vector<std::uint32_t> panels_;       ///< panels of all tasks, task by task
  std::vector<double> sent_, on_device_;    ///< [panel] bytes
  std::vector<double> making_;              ///< [panel] operations
  std::vector<std::uint32_t> slab_begin_;   ///< [panel + 1] index in slabs_
  std::vector<std::uint32_t> slabs_;        ///< slabs of all panels, panel by panel
  std::vector<double> slab_bytes_;          ///< [slab]
  double largest_task_ = 0.0;
  std::shared_ptr<const Sample> sample_;
};

struct Inspection::Sample {
  Plan plan;
  Inspection inspection;
};

}
