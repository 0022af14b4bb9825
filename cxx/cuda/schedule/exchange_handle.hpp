#pragma once

#include <cstdint>
#include <string>

namespace trifuse::gpu {

/// What a GPU exports to the GPUs of its host: handles of memory without blanks, empty if it exports no such memory.
struct ExportedMemory {
  std::string panels;           ///< memory of all packed panels that the GPU owns
  std::string slabs;            ///< memory of the first slabs of factors that the GPU owns
  std::int64_t slab_bytes = 0;  ///< size of these slabs
  bool operator==(const ExportedMemory&) const = default;
};

/// Writes the text that the ranks of a host send to each other; empty if nothing is exported. `description`: of the
/// operands; GPUs exchange panels only if their descriptions are the same.
std::string write_handle(const std::string& description, const ExportedMemory& exported);
/// Reads this text. Returns empty handles if the text has another description or is not complete.
ExportedMemory read_handle(const std::string& description, const std::string& text);

}
