#pragma once

#include <cstdint>
#include <string>

namespace trifuse::gpu {

/// What a GPU exports to the GPUs of its host. A handle of memory is a text without blanks. It is empty if the GPU
/// exports no such memory.
struct ExportedMemory {
  std::string panels;           ///< memory of all packed panels that the GPU owns
  std::string slabs;            ///< memory of the first slabs of factors that the GPU owns
  std::int64_t slab_bytes = 0;  ///< size of these slabs
  bool operator==(const ExportedMemory&) const = default;
};

/// Returns the text that the ranks of a host send to each other; empty if nothing is exported. `description` describes
/// the operands; GPUs exchange panels only if their descriptions are the same.
std::string write_handle(const std::string& description, const ExportedMemory& exported);
/// Reads a text of write_handle(). Returns empty handles if the text has another description or is incomplete.
ExportedMemory read_handle(const std::string& description, const std::string& text);

}
