#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tests/fuzz/checked_blocks.hpp"

namespace trifuse::testing {

/// Damages the contents of files as disks, transfers, editors and wrong programs do. The same seed gives the same
/// damage on every machine.
class Mutation {
  using Lines = std::vector<std::string>;
  static Lines::iterator at(Lines& lines, std::size_t n) { return lines.begin() + static_cast<std::ptrdiff_t>(n); }

 public:
  explicit Mutation(std::uint64_t seed) : random_(seed) {}

  /// A random number below `end`. `end` must not be 0.
  std::size_t below(std::size_t end) { return static_cast<std::size_t>(random_() % end); }
  bool one_in(std::size_t n) { return below(n) == 0; }
  /// A description of the damage, for reports.
  const std::string& description() const { return description_; }

  void spoil_binary(std::string& content) {
    switch (below(11)) {
      case 0:
        say("a flipped bit");
        if (!content.empty()) content[below(content.size())] ^= static_cast<char>(1 << below(8));
        break;
      case 1:
        say("a strange 8-byte word");
        set_word<std::uint64_t>(content);
        break;
      case 2:
        say("a strange 8-byte word in front");
        set_word<std::uint64_t>(content, 64);
        break;
      case 3:
        say("a strange 4-byte word");
        set_word<std::uint32_t>(content);
        break;
      case 4:
        say("strange words in front");
        for (int n = 0; n < 4; ++n) set_word<std::uint32_t>(content, 256);
        break;
      case 5:
        say("the wrong byte order");
        for (std::size_t at = 0; at + 8 <= content.size(); at += 8) {
          std::reverse(content.begin() + static_cast<std::ptrdiff_t>(at),
                       content.begin() + static_cast<std::ptrdiff_t>(at + 8));
        }
        break;
      case 6:
        say("random bytes");
        for (char& c : stretch(content)) c = static_cast<char>(random_());
        break;
      default:
        spoil_structure(content);
    }
  }

  /// Damages HDF5 files, in half of the cases near metadata, which are a small part of a file. `blocks`: blocks with
  /// checksums; in one of three cases a changed block gets its correct checksum.
  void spoil_hdf5(std::string& content, std::span<const CheckedBlock> blocks) {
    const int times = one_in(8) ? 2 : 1;
    if (!blocks.empty() && one_in(3)) {
      for (int n = 0; n < times; ++n) spoil_block(content, blocks[below(blocks.size())]);
      return;
    }
    for (int n = 0; n < times; ++n) one_in(2) ? spoil_binary(content) : spoil_description(content);
  }

  void spoil_text(std::string& content) {
    switch (below(8)) {
      case 0:
        say("another number");
        replace_number(content);
        break;
      case 1:
        say("several other numbers");
        for (int n = 0; n < 5; ++n) replace_number(content);
        break;
      case 2:
        say("lines taken out");
        change_lines(content, [&](Lines& lines, std::size_t first, std::size_t count) {
          lines.erase(at(lines, first), at(lines, first + count));
        });
        break;
      case 3:
        say("lines twice");
        change_lines(content, [&](Lines& lines, std::size_t first, std::size_t count) {
          const Lines copy(at(lines, first), at(lines, first + count));
          lines.insert(at(lines, first), copy.begin(), copy.end());
        });
        break;
      case 4:
        say("lines in another place");
        change_lines(content, [&](Lines& lines, std::size_t first, std::size_t count) {
          std::rotate(at(lines, first), at(lines, first + count), at(lines, lines.size()));
        });
        break;
      case 5:
        say("strange characters");
        for (char& c : stretch(content)) c = " 0123456789.-+eED\n\t\0*x"[below(22)];
        break;
      default:
        spoil_structure(content);
    }
  }

 private:
  void say(const std::string& what) { description_ += (description_.empty() ? "" : ", ") + what; }

  /// Damage that can happen to any file.
  void spoil_structure(std::string& content) {
    const std::size_t place = below(content.size() + 1);
    switch (below(6)) {
      case 0:
        say("truncated");
        content.resize(one_in(2) ? place : content.size() - std::min(content.size(), 8 * below(4)));
        break;
      case 1:
        say("too long");
        content.append(1 + below(one_in(2) ? 16 : 4096), one_in(2) ? '\0' : static_cast<char>(random_()));
        break;
      case 2:
        say("a piece missing");
        content.erase(place, 1 + below(64));
        break;
      case 3:
        say("a piece twice");
        content.insert(place, content.substr(place, 1 + below(512)));
        break;
      case 4:
        say("two pieces exchanged");
        if (content.size() > 64) {
          const std::size_t size = 1 + below(32), other = below(content.size() - size);
          const std::size_t first = std::min(place, content.size() - size);
          if (first + size <= other || other + size <= first) {
            std::swap_ranges(content.begin() + static_cast<std::ptrdiff_t>(first),
                             content.begin() + static_cast<std::ptrdiff_t>(first + size),
                             content.begin() + static_cast<std::ptrdiff_t>(other));
          }
        }
        break;
      default:
        say("nothing");
        if (one_in(4)) content.clear();
    }
  }

  /// The bytes after a signature of HDF5, or the bytes at one end of the file.
  std::span<char> described(std::string& content) {
    static const std::array<const char*, 14> signatures = {"GCOL", "GCOL", "TREE", "TREE", "SNOD", "HEAP", "OHDR",
                                                           "OCHK", "FRHP", "FHDB", "FHIB", "BTHD", "BTLF", "FAHD"};
    constexpr std::size_t most = 600, ends = 2048;
    std::size_t first = one_in(2) ? 0 : content.size() - std::min(content.size(), ends), count = ends;
    const std::string signature = signatures[below(signatures.size())];
    const std::size_t found = content.find(signature, below(content.size() + 1));
    if (found != std::string::npos) {
      first = found;
      count = most;
      say("after " + signature);
    }
    return std::span(content).subspan(first, std::min(content.size() - first, count));
  }

  void spoil_description(std::string& content) {
    if (content.size() < 64) return;
    const std::span<char> piece = described(content);
    if (piece.size() >= 16) spoil_range(content, piece);
  }

  void spoil_block(std::string& content, const CheckedBlock& block) {
    // Words in metadata are not aligned.
    const std::size_t skipped = block.bytes < 16 ? 0 : below(8);
    spoil_range(content, std::span(content).subspan(block.begin + skipped, block.bytes - skipped));
    renew_sum(content, block);
    say("with a checksum that fits");
  }

  /// `piece`: of the content, at least 8 bytes.
  void spoil_range(std::string& content, std::span<char> piece) {
    char& byte = piece[below(piece.size())];
    switch (below(7)) {
      case 0:
        say("a flipped bit");
        byte = static_cast<char>(byte ^ (1 << below(8)));
        break;
      case 1:
        say("a strange byte");
        byte = std::array<char, 6>{0, 1, 2, 0x7f, static_cast<char>(0x80), static_cast<char>(0xff)}[below(6)];
        break;
      case 2: {
        say("a strange 2-byte word");
        std::string words(piece.begin(), piece.end());
        set_word<std::uint16_t>(words);
        std::copy(words.begin(), words.end(), piece.begin());
        break;
      }
      case 3: {
        say("a strange 4-byte word");
        std::string words(piece.begin(), piece.end());
        set_word<std::uint32_t>(words);
        std::copy(words.begin(), words.end(), piece.begin());
        break;
      }
      case 4: {
        say("a strange 8-byte word");
        std::string words(piece.begin(), piece.end());
        set_word<std::uint64_t>(words);
        std::copy(words.begin(), words.end(), piece.begin());
        break;
      }
      case 5: {
        say("a copy of a block of the file");
        const std::size_t size = std::min<std::size_t>(piece.size(), 8 * (1 + below(16)));
        const std::string block = content.substr(8 * below((content.size() - size) / 8 + 1), size);
        std::copy(block.begin(), block.end(),
                  piece.begin() + static_cast<std::ptrdiff_t>(below(piece.size() - size + 1)));
        break;
      }
      default: {
        // An address of the file replaces another number, so trees and lists may become circular.
        say("an address of the file");
        const std::uint64_t address = 8 * below(content.size() / 8);
        std::memcpy(&piece[8 * below(piece.size() / 8)], &address, sizeof address);
      }
    }
  }

  /// Up to 64 bytes somewhere.
  std::span<char> stretch(std::string& content) {
    if (content.empty()) return {};
    const std::size_t first = below(content.size());
    return std::span(content).subspan(first, std::min(content.size() - first, 1 + below(64)));
  }

  /// Overwrites an aligned word among the first `within` bytes with a number that programs often handle wrongly.
  template <typename Word>
  void set_word(std::string& content, std::size_t within = std::numeric_limits<std::size_t>::max()) {
    const std::size_t words = std::min(content.size(), within) / sizeof(Word);
    if (words == 0) return;
    char* place = content.data() + below(words) * sizeof(Word);
    Word word{};
    std::memcpy(&word, place, sizeof word);
    const std::array<Word, 10> integers = {0,
                                           1,
                                           2,
                                           static_cast<Word>(-1),
                                           std::numeric_limits<Word>::max() / 2,
                                           static_cast<Word>(1) << (8 * sizeof(Word) - 1),
                                           static_cast<Word>(word + 1),
                                           static_cast<Word>(word - 1),
                                           static_cast<Word>(word * 2),
                                           static_cast<Word>(1) << (4 * sizeof(Word))};
    word = integers[below(integers.size())];
    if (sizeof(Word) == sizeof(double) && one_in(2)) {
      const std::array<double, 8> numbers = {std::nan(""), INFINITY, -INFINITY, 1e300, -1e300, 5e-324, 1.5, -0.0};
      std::memcpy(&word, &numbers[below(numbers.size())], sizeof word);
    }
    std::memcpy(place, &word, sizeof word);
  }

  void replace_number(std::string& content) {
    static const std::array<const char*, 16> numbers = {"0",
                                                        "1",
                                                        "-1",
                                                        "2",
                                                        "7",
                                                        "100",
                                                        "2147483648",
                                                        "99999999999999999999",
                                                        "9223372036854775807",
                                                        "-0.5",
                                                        "1e308",
                                                        "nan",
                                                        "inf",
                                                        "0.0000001",
                                                        "******",
                                                        ""};
    const std::size_t start = below(content.size() + 1);
    const std::size_t first = content.find_first_of("0123456789", start);
    if (first == std::string::npos) return;
    const std::size_t end = std::min(content.find_first_not_of("0123456789.", first), content.size());
    content.replace(first, end - first, numbers[below(numbers.size())]);
  }

  template <typename Change>
  void change_lines(std::string& content, Change change) {
    Lines lines;
    for (std::size_t begin = 0; begin < content.size();) {
      const std::size_t end = std::min(content.find('\n', begin), content.size() - 1) + 1;
      lines.push_back(content.substr(begin, end - begin));
      begin = end;
    }
    if (lines.empty()) return;
    const std::size_t first = below(lines.size());
    change(lines, first, std::min(lines.size() - first, 1 + below(one_in(2) ? 2 : 40)));
    content.clear();
    for (const std::string& line : lines) content += line;
  }

  std::mt19937_64 random_;
  std::string description_;
};

}
