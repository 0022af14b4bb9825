#include "tce_tiles/dump_files/dump_seal.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <filesystem>
#include <numeric>
#include <random>

#include "cxx/base/box_pieces.hpp"
#include "tce_tiles/checks/source_check.hpp"
#include "tce_tiles/dump_files/dump_source.hpp"
#include "tce_tiles/dump_files/dump_writer.hpp"
#include "tce_tiles/hdf5/block_sums.hpp"
#include "tce_tiles/hdf5/hdf5_writer.hpp"
#include "tce_tiles/sources/open_source.hpp"
#include "tests/support/copied_sources.hpp"
#include "tests/tce_tiles/dump_test_data.hpp"

namespace trifuse::testing {
namespace {

/// For all block sizes: reading a box returns the numbers of the file. It fails if a block was changed that the box
/// touches.
TEST(BlockSums, VerifyEveryBlockThatABoxTouches) {
  const std::string path = ::testing::TempDir() + "/trifuse_block_sums.h5";
  const std::vector<std::vector<std::int64_t>> shapes = {{7}, {3, 5}, {4, 3, 5}, {3, 4, 5, 6}, {5, 1, 30, 40}};
  std::mt19937 random(1);
  const auto below = [&](std::int64_t n) { return std::uniform_int_distribution<std::int64_t>(0, n - 1)(random); };
  for (const std::vector<std::int64_t>& shape : shapes) {
    std::int64_t size = 1;
    for (const std::int64_t n : shape) size *= n;
    std::vector<double> values(static_cast<std::size_t>(size));
    std::iota(values.begin(), values.end(), 0.5);
    for (const bool chunked : {false, true}) {
      Hdf5Writer out = create_hdf5_file(path);
      const std::vector<std::int64_t> chunk(shape.size(), 1);
      out.create_dataset("x", shape, Hdf5Writer::Type::real, chunked ? chunk : std::vector<std::int64_t>())
          .write(std::vector<std::int64_t>(shape.size(), 0), shape, values);
      out.close();
      const Hdf5File in = Hdf5File::open(path);
      const Hdf5Dataset dataset = in.dataset("x");
      for (const std::int64_t block : {1, 2, 8, 64, 1024}) {
        BlockSums sums(path, "x", size, false, block);
        sums.set(sums.compute(values), BlockSums::Origin::seal);
        for (int round = 0; round < 20; ++round) {
          std::vector<std::int64_t> offset, count;
          std::int64_t box = 1;
          for (const std::int64_t n : shape) {
            offset.push_back(below(n));
            count.push_back(1 + below(n - offset.back()));
            box *= count.back();
          }
          std::vector<double> found(static_cast<std::size_t>(box)), expected(found);
          sums.read(dataset, offset, count, found);
          dataset.read(offset, count, expected);
          EXPECT_EQ(found, expected);
          // The checksum of one block is wrong. Boxes that touch this block are refused.
          BlockSums spoiled(path, "x", size, false, block);
          std::vector<std::uint32_t> wrong = sums.compute(values);
          const std::int64_t bad = below(sums.count());
          wrong[static_cast<std::size_t>(bad)] ^= 1U << below(32);
          spoiled.set(wrong, BlockSums::Origin::seal);
          bool touched = false;
          BoxPieces pieces(shape, offset, count);
          for (std::int64_t n = 0; n < pieces.count(); ++n, pieces.next()) {
            touched =
                touched || (pieces.first() / block <= bad && bad <= (pieces.first() + pieces.length() - 1) / block);
          }
          bool refused = false;
          try {
            spoiled.read(dataset, offset, count, found);
          } catch (const InputError& error) {
            refused = true;
            EXPECT_NE(std::string(error.what())
                          .find("block " + std::to_string(bad) + " of dataset 'x' (elements " +
                                std::to_string(bad * block) + " to "),
                      std::string::npos)
                << error.what();
          }
          // The reader may also read a block in a gap between two runs, and refuse it.
          EXPECT_TRUE(refused || !touched);
        }
      }
    }
  }
  std::filesystem::remove(path);
}

TEST(BlockSums, EqualCrc32OfZlib) {
  const std::vector<double> values = {1.0, -2.5, 3.0};
  const BlockSums real("a", "b", 3, false, 2), integer("a", "b", 3, true, 2);
  const auto crc = [](const void* data, std::size_t bytes) {
    return static_cast<std::uint32_t>(::crc32(0, static_cast<const Bytef*>(data), static_cast<uInt>(bytes)));
  };
  EXPECT_EQ(real.compute(values), (std::vector<std::uint32_t>{crc(values.data(), 16), crc(values.data() + 2, 8)}));
  const std::vector<std::int64_t> words = {1, -2, 3};
  EXPECT_EQ(integer.compute(std::vector<double>{1.0, -2.0, 3.0}),
            (std::vector<std::uint32_t>{crc(words.data(), 16), crc(words.data() + 2, 8)}));
}

class Seal : public DumpTest {
 protected:
  std::string path_;
  void SetUp() override {
    DumpTest::SetUp();
    path_ = file("dump.h5");
  }

  /// The bytes of one dataset in the file.
  struct Extent {
    std::string name;
    std::int64_t begin, size;
  };
  /// Returns the extents of all contiguous datasets that have elements, also in the group of the seal.
  std::vector<Extent> extents() const {
    std::vector<Extent> found;
    const hid_t file = H5Fopen(path_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    const Hdf5File in = Hdf5File::open(path_);
    std::vector<std::string> names = in.members("/");
    for (const std::string& name : in.members("seal")) names.push_back("seal/" + name);
    for (const std::string& name : names) {
      if (name == "seal") continue;
      const hid_t dataset = H5Dopen2(file, name.c_str(), H5P_DEFAULT);
      const auto size = static_cast<std::int64_t>(H5Dget_storage_size(dataset));
      if (size > 0) found.push_back({name, static_cast<std::int64_t>(H5Dget_offset(dataset)), size});
      H5Dclose(dataset);
    }
    H5Fclose(file);
    return found;
  }
  /// Changes bits of one byte in place.
  void flip(std::int64_t at, unsigned char bits) const {
    const int file = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
    unsigned char byte = 0;
    ASSERT_EQ(::pread(file, &byte, 1, at), 1);
    byte = static_cast<unsigned char>(byte ^ bits);
    ASSERT_EQ(::pwrite(file, &byte, 1, at), 1);
    ::close(file);
  }
  std::string refusal(const std::function<void()>& action) const { return message<InputError>(action); }
  static std::vector<DenseMolecule> molecules() {
    std::vector<DenseMolecule> found;
    found.emplace_back(closed_shell({0, 0, 1}, {0, 0, 1, 1}), 1);
    found.emplace_back(OrbitalSet{Reference::uhf, {{{0, 0, 0}, {0, 0}, {0, 0, 0}, {0, 0, 0, 0}}}}, 2);
    return found;
  }
  void write(const DenseMolecule& m, WriteOptions::Layout layout = WriteOptions::Layout::contiguous) const {
    write_dump(memory_source(m, 2, 2), path_, {.overwrite = true, .layout = layout});
  }
};

TEST_F(Seal, EveryByteOfEveryDatasetIsSealed) {
  std::mt19937 random(1);
  for (const DenseMolecule& m : molecules()) {
    write(m);
    for (const Extent& extent : extents()) {
      for (int n = 0; n < 4; ++n) {
        const std::int64_t at = extent.begin + std::uniform_int_distribution<std::int64_t>(0, extent.size - 1)(random);
        const auto bits = static_cast<unsigned char>(1U << (random() % 8));
        flip(at, bits);
        const std::string text = refusal([&] { copy_of(*open_dump(path_, 2, 2)); });
        EXPECT_NE(
            text.find(extent.name == "seal/header" ? "do not match the seal" : "does not match the seal; the file was"),
            std::string::npos)
            << extent.name << ": " << text;
        flip(at, bits);
      }
    }
    expect_equal(*open_dump(path_, 2, 2), m);
  }
}

TEST_F(Seal, AttributesAndShapesAreSealed) {
  const DenseMolecule m = molecules().front();
  const auto change = [&](const char* name, hid_t type, const void* value) {
    write(m);
    const hid_t file = H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    const bool exists = H5Aexists(file, name) > 0;
    const hid_t space = H5Screate(H5S_SCALAR);
    const hid_t attribute =
        exists ? H5Aopen(file, name, H5P_DEFAULT) : H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    EXPECT_GE(H5Awrite(attribute, type, value), 0);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Fclose(file);
    const std::string text = refusal([&] { open_dump(path_, 2, 2); });
    EXPECT_TRUE(text.starts_with(path_ + ": ")) << text;
    return text;
  };
  const double energy = -0.25;
  const std::int64_t one = 1, zero = 0, block = 2048;
  EXPECT_NE(change("correlation_energy", H5T_NATIVE_DOUBLE, &energy).find("do not match the seal"), std::string::npos);
  EXPECT_NE(change("scf_energy", H5T_NATIVE_DOUBLE, &energy).find("do not match the seal"), std::string::npos);
  EXPECT_NE(change("fock_in_triples", H5T_NATIVE_INT64, &one).find("do not match the seal"), std::string::npos);
  EXPECT_NE(change("seal_block", H5T_NATIVE_INT64, &block).find("do not match the seal"), std::string::npos);
  EXPECT_NE(change("seal_block", H5T_NATIVE_INT64, &one).find("must be a power of two"), std::string::npos);
  EXPECT_NE(change("minor_version", H5T_NATIVE_INT64, &zero).find("the dump has a seal, but"), std::string::npos);

  // Each sealed dataset must be present, and each dataset present must be sealed.
  const auto changed = [&](const std::function<void(hid_t)>& how) {
    write(m);
    const hid_t file = H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    how(file);
    H5Fclose(file);
    return refusal([&] { open_dump(path_, 2, 2); });
  };
  EXPECT_NE(changed([](hid_t f) { H5Ldelete(f, "fock", H5P_DEFAULT); }).find("'fock' was sealed, but is missing"),
            std::string::npos);
  EXPECT_NE(changed([](hid_t f) { H5Ldelete(f, "seal/fock", H5P_DEFAULT); }).find("do not match the seal"),
            std::string::npos);
  EXPECT_NE(changed([](hid_t f) { H5Ldelete(f, "seal", H5P_DEFAULT); }).find("group 'seal' is missing"),
            std::string::npos);
  EXPECT_NE(changed([](hid_t f) { H5Adelete(f, "minor_version"); }).find("the dump has a seal, but"),
            std::string::npos);
  EXPECT_NE(changed([](hid_t f) {
              H5Ldelete(f, "seal/fock", H5P_DEFAULT);
              H5Ldelete(f, "fock", H5P_DEFAULT);
            }).find("do not match the seal"),
            std::string::npos);
}

/// Runs the first stage of a check and returns its checksums.
std::vector<double> checksums(const TileSource& source, const CheckShare& share = {}) {
  return make_source_check(source, source, share)->run(0);
}
void take_checksums(const TileSource& source) {
  make_source_check(source, source)->accept(0, checksums(source));
}

/// Two valid dumps with different numbers. After the check of one dump, no numbers of the other dump are used.
TEST_F(Seal, OnlyCheckedNumbersAreUsed) {
  for (const bool seal : {true, false}) {
    for (const auto layout : {WriteOptions::Layout::contiguous, WriteOptions::Layout::compressed}) {
      const DenseMolecule m(closed_shell({0, 0, 0}, {0, 0, 0, 0}), 1), n(closed_shell({0, 0, 0}, {0, 0, 0, 0}), 9);
      const auto write_other = [&](const std::string& path, const DenseMolecule& molecule) {
        write_dump(memory_source(molecule, 2, 2), path, {.overwrite = true, .layout = layout});
        if (!seal) remove_seal(path);
      };
      write_other(file("other.h5"), n);
      write_other(path_, m);
      const auto source = open_dump(path_, 2, 2);
      take_checksums(*source);
      // The source keeps its file open, although another file has the name now.
      std::filesystem::rename(path_, file("moved.h5"));
      std::filesystem::copy_file(file("other.h5"), path_);
      expect_equal(*source, m);
      if (layout == WriteOptions::Layout::compressed) continue;  // chunks of the other file have other positions
      std::filesystem::rename(file("moved.h5"), path_);
      const auto used = open_dump(path_, 1, 3);
      take_checksums(*used);
      std::filesystem::copy_file(file("other.h5"), path_, std::filesystem::copy_options::overwrite_existing);
      const std::string text = refusal([&] { copy_of(*used); });
      EXPECT_NE(text.find(seal ? "does not match the seal" : "has changed since it was checked"), std::string::npos)
          << text;
    }
  }
}

TEST_F(Seal, SharesOfChecksumsAddUp) {
  const DenseMolecule m = molecules().back();
  raw_dump(m).write(path_);
  const auto source = open_dump(path_, 2, 2);
  const std::vector<double> whole = checksums(*source);
  ASSERT_FALSE(whole.empty());
  std::vector<double> sum(whole.size(), 0.0);
  for (int part = 0; part < 3; ++part) {
    const std::vector<double> share = checksums(*source, {part, 3, 2});
    ASSERT_EQ(share.size(), sum.size());
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += share[k];
  }
  EXPECT_EQ(sum, whole);
  make_source_check(*source, *source)->accept(0, sum);
  expect_equal(*source, m);
}

TEST_F(Seal, OlderDumpsAreReadAndReportedAsUnsealed) {
  const DenseMolecule m = molecules().front();
  raw_dump(m).write(path_);
  const auto source = open_dump(path_, 2, 2);
  EXPECT_EQ(source->info().format, "Trifuse dump, version 1.0, unsealed");
  EXPECT_FALSE(source->info().sealed);
  expect_equal(*source, m);
}

TEST_F(Seal, DigestsDependOnTheNumbers) {
  const DenseMolecule m(closed_shell({0, 0}, {0, 0, 0}), 1), n(closed_shell({0, 0}, {0, 0, 0}), 2);
  const auto digest = [&](const DenseMolecule& molecule, const std::string& path, bool seal) {
    write_dump(memory_source(molecule, 2, 2), path, {.overwrite = true});
    if (!seal) remove_seal(path);
    const auto source = open_dump(path, 2, 2);
    take_checksums(*source);
    return source->digest().value();
  };
  for (const bool seal : {true, false}) {
    const SourceDigest found = digest(m, file("a.h5"), seal);
    EXPECT_EQ(found, digest(m, file("b.h5"), seal));
    EXPECT_NE(found, digest(n, file("c.h5"), seal));
  }
  // The digest also depends on attributes that decide what is computed, even in a dump without a seal.
  RawDump dump = raw_dump(m);
  dump.write(path_);
  const SourceDigest plain = open_dump(path_, 2, 2)->digest().value();
  dump.attributes["fock_in_triples"] = std::int64_t{1};
  dump.write(path_);
  EXPECT_NE(open_dump(path_, 2, 2)->digest().value(), plain);
}

}
}
