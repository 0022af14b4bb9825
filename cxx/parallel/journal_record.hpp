#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>

namespace trifuse {

/// Writes the fields of a journal record one after the other: numbers of eight bytes, least significant byte first, on
/// every machine. A floating-point number is written as its IEEE 754 bits.
class RecordWriter {
 public:
  void put(std::uint64_t number) {
    for (int byte = 0; byte < 8; ++byte) bytes_.push_back(static_cast<char>(number >> 8 * byte & 0xff));
  }
  void put(double number) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &number, sizeof bits);
    put(bits);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Reads the fields of a record in the order in which RecordWriter wrote them. `bytes` must contain all these fields.
class RecordReader {
 public:
  explicit RecordReader(std::span<const char> bytes) : bytes_(bytes) {}

  std::uint64_t integer() {
    std::uint64_t number = 0;
    for (int byte = 0; byte < 8; ++byte) {
      number |= std::uint64_t{static_cast<unsigned char>(bytes_[at_++])} << 8 * byte;
    }
    return number;
  }
  double real() {
    const std::uint64_t bits = integer();
    double number = 0.0;
    std::memcpy(&number, &bits, sizeof number);
    return number;
  }

 private:
  std::span<const char> bytes_;
  std::size_t at_ = 0;
};

}
