#include <gtest/gtest.h>
#include <hdf5.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <functional>
#include <numeric>
#include <thread>

#include "cxx/base/error.hpp"
#include "tce_tiles/hdf5/hdf5_file.hpp"
#include "tce_tiles/hdf5/hdf5_filters.hpp"
#include "tce_tiles/hdf5/hdf5_writer.hpp"
#include "tests/tce_tiles/dump_test_data.hpp"
#include "tests/tce_tiles/nwchem_test_data.hpp"

/// Chunks of datasets in all kinds of chunk indexes of HDF5: filters, the size of unpacked chunks, and damage.
namespace trifuse::testing {
namespace {

/// A kind of chunk index, and the properties that make HDF5 choose it.
struct IndexKind {
  const char* name;
  bool newest;
  std::vector<hsize_t> most;  ///< largest extents; empty: the extents are fixed
  std::vector<hsize_t> chunk;
};

const std::vector<hsize_t> extent = {7, 10};
constexpr std::int64_t elements = 70;

std::vector<IndexKind> index_kinds() {
  return {{"old_tree", false, {}, {2, 4}},
          {"single", true, {}, {7, 10}},
          {"fixed_array", true, {}, {2, 4}},
          {"fixed_array_of_larger_extents", true, {9, 23}, {2, 4}},
          {"extensible_array", true, {H5S_UNLIMITED, 10}, {2, 4}},
          {"extensible_array_in_the_last_axis", true, {7, H5S_UNLIMITED}, {2, 4}},
          {"tree", true, {H5S_UNLIMITED, H5S_UNLIMITED}, {2, 4}}};
}

void PrintTo(const IndexKind& kind, std::ostream* out) {
  *out << kind.name;
}

enum Filters : unsigned { none = 0, deflate = 1, shuffle = 2, fletcher32 = 4, not_partial_chunks = 8 };

std::string deflated(std::span<const double> values) {
  std::string out(::compressBound(values.size_bytes()), '\0');
  uLongf size = out.size();
  ::compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(values.data()),
              values.size_bytes(), 6);
  out.resize(size);
  return out;
}

std::string bytes_of(std::span<const double> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

class ChunksOfAFile : public DumpTest, public ::testing::WithParamInterface<IndexKind> {
 protected:
  std::string path() const { return file("x.h5"); }

  /// Writes dataset "x" with the numbers 1, 2, 3, ... Then `change` may write into it.
  void make(
      unsigned filters, const std::function<void(hid_t)>& change = [](hid_t) {}) const {
    const IndexKind& kind = GetParam();
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS), creation = H5Pcreate(H5P_DATASET_CREATE);
    if (kind.newest) H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110);
    const hid_t raw = H5Fcreate(path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pset_chunk(creation, 2, kind.chunk.data());
    if ((filters & shuffle) != 0) H5Pset_shuffle(creation);
    if ((filters & deflate) != 0) H5Pset_deflate(creation, 6);
    if ((filters & fletcher32) != 0) H5Pset_fletcher32(creation);
    if ((filters & not_partial_chunks) != 0) H5Pset_chunk_opts(creation, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
    const hid_t space = H5Screate_simple(2, extent.data(), kind.most.empty() ? nullptr : kind.most.data());
    const hid_t made = H5Dcreate2(raw, "x", H5T_IEEE_F64LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    ASSERT_GE(made, 0);
    std::vector<double> values(elements);
    std::iota(values.begin(), values.end(), 1.0);
    ASSERT_GE(H5Dwrite(made, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
    change(made);
    H5Dclose(made);
    H5Sclose(space);
    H5Pclose(creation);
    H5Fclose(raw);
    H5Pclose(access);
  }
  /// Writes the bytes `stored` as the last chunk, with this filter mask.
  static void write_last(hid_t dataset, const std::string& stored, unsigned mask) {
    const std::vector<hsize_t>& chunk = GetParam().chunk;
    const std::array<hsize_t, 2> at = {6 / chunk[0] * chunk[0], 9 / chunk[1] * chunk[1]};
    ASSERT_GE(H5Dwrite_chunk(dataset, H5P_DEFAULT, mask, at.data(), stored.size(), stored.data()), 0);
  }
  static std::size_t chunk_elements() { return GetParam().chunk[0] * GetParam().chunk[1]; }
  /// Returns 1, 2, ..., `count` as new contents of the last chunk.
  static std::vector<double> some(std::size_t count) {
    std::vector<double> values(count);
    std::iota(values.begin(), values.end(), 1.0);
    return values;
  }
  std::vector<double> values() const {
    const Hdf5File in = Hdf5File::open(path());
    const Hdf5Dataset x = in.dataset("x");
    std::vector<double> all(static_cast<std::size_t>(x.size()));
    x.read_all(all);
    return all;
  }
  void expect_refused(const std::string& words) const {
    const std::string text = message<InputError>([&] { values(); });
    EXPECT_NE(text.find(words), std::string::npos) << text;
    EXPECT_TRUE(text.starts_with(path() + ": ")) << text;
    EXPECT_NE(text.find("dataset 'x'"), std::string::npos) << text;
  }
};

TEST_P(ChunksOfAFile, AreReadWithAllFilters) {
  for (const unsigned filters : {+none, +deflate, +shuffle, +fletcher32, deflate | shuffle, deflate | fletcher32,
                                 deflate | shuffle | fletcher32, deflate | fletcher32 | not_partial_chunks}) {
    make(filters);
    const std::vector<double> all = values();
    for (std::size_t n = 0; n < all.size(); ++n) ASSERT_EQ(all[n], static_cast<double>(n + 1)) << filters;
    const Hdf5Dataset x = Hdf5File::open(path()).dataset("x");
    std::vector<double> box(6);
    x.read(std::array<std::int64_t, 2>{1, 3}, std::array<std::int64_t, 2>{2, 3}, box);
    EXPECT_EQ(box, (std::vector<double>{14, 15, 16, 24, 25, 26})) << filters;
  }
}

TEST_P(ChunksOfAFile, StreamsOfAnotherLengthAreRefused) {
  const std::size_t whole = chunk_elements();
  for (const std::size_t count : {whole / 2, whole - 1, whole + 1, 4 * whole}) {
    make(deflate, [&](hid_t x) { write_last(x, deflated(some(count)), 0); });
    expect_refused("unpack");
  }
  make(deflate, [&](hid_t x) {
    std::string stream = deflated(some(whole));
    stream.resize(stream.size() - 6);
    write_last(x, stream, 0);
  });
  expect_refused("unpack");
}

TEST_P(ChunksOfAFile, BytesBehindTheEndOfAStreamAreHarmless) {
  std::vector<double> last = some(chunk_elements());
  make(deflate, [&](hid_t x) { write_last(x, deflated(last) + "more", 0); });
  EXPECT_EQ(values().front(), 1.0);
}

TEST_P(ChunksOfAFile, DamagedStreamsAndChecksumsAreRefused) {
  make(deflate, [&](hid_t x) {
    std::string stream = deflated(some(chunk_elements()));
    for (std::size_t n = 2; n < stream.size(); ++n) stream[n] = static_cast<char>(stream[n] ^ 0x55);
    write_last(x, stream, 0);
  });
  expect_refused("unpack");
  make(fletcher32, [&](hid_t x) { write_last(x, bytes_of(some(chunk_elements())) + "sums", 0); });
  expect_refused("checksum");
}

TEST_P(ChunksOfAFile, ChunksWithoutSomeOfTheFiltersAreReadOrRefused) {
  const std::size_t whole = chunk_elements();
  make(deflate, [&](hid_t x) { write_last(x, bytes_of(some(whole)), 1); });
  const std::vector<double> all = values();
  if (whole == elements) {
    EXPECT_EQ(all.back(), 70.0);
  } else {
    EXPECT_EQ(all[elements - 2], 1.0);
    EXPECT_EQ(all[elements - 1], 2.0);
  }
  // The mask says that the chunk is not compressed, but its size is wrong for that.
  for (const std::size_t bytes : {8 * whole - 8, 8 * whole - 1, 8 * whole + 8}) {
    make(deflate, [&](hid_t x) { write_last(x, std::string(bytes, 'x'), 1); });
    expect_refused("size");
  }
  make(shuffle, [&](hid_t x) { write_last(x, bytes_of(some(whole)), 1); });
  expect_refused("without");
  make(shuffle | deflate, [&](hid_t x) { write_last(x, deflated(some(whole)), 1); });
  expect_refused("without");
  make(deflate, [&](hid_t x) { write_last(x, deflated(some(whole)), 0x10); });
  expect_refused("without");
}

TEST_P(ChunksOfAFile, AreCheckedOncePerFile) {
  make(none);
  const Hdf5File in = Hdf5File::open(path());
  EXPECT_EQ(in.dataset("x").shape().size(), 2U);
  // After opening, damage everything except the data.
  std::string content = read_text(path());
  for (const char* signature : {"TREE", "BTHD", "BTLF", "FAHD", "FADB", "EAHD", "EAIB", "OHDR"}) {
    for (std::size_t at = 0; (at = content.find(signature, at)) != std::string::npos;) content[at] = '?';
  }
  std::fstream(path(), std::ios::binary | std::ios::in | std::ios::out) << content;
  EXPECT_THROW(Hdf5File::open(path()).dataset("x"), InputError);
  const Hdf5Dataset x = in.dataset("x");
  std::vector<double> all(elements);
  x.read_all(all);
  EXPECT_EQ(all.back(), 70.0);
}

INSTANTIATE_TEST_SUITE_P(In, ChunksOfAFile, ::testing::ValuesIn(index_kinds()),
                         [](const auto& test) { return std::string(test.param.name); });

/// A damaged file may claim elements of any size. Unpacking must not spend time on them.
TEST(Hdf5Filters, UnpackShuffledElementsLargerThanTheChunk) {
  Hdf5Chunks chunks;
  chunks.bytes = 8;
  chunks.filters = {{Hdf5Filter::Kind::shuffle, std::uint64_t{1} << 50}};
  std::string out(8, ' ');
  EXPECT_EQ(unpack_chunk(chunks, {}, "12345678", out), nullptr);
  EXPECT_EQ(out, "12345678");
}

/// With this many chunks the indexes have all their levels: pages, super blocks, inner nodes.
TEST_F(DumpTest, ManyChunksAreFoundInEveryKindOfIndex) {
  const std::vector<std::pair<hsize_t, std::vector<hsize_t>>> kinds = {
      {3000, {1, 3000}}, {133000, {1, H5S_UNLIMITED}}, {20000, {H5S_UNLIMITED, H5S_UNLIMITED}}};
  for (const bool filtered : {false, true}) {
    for (const auto& [many, most] : kinds) {
      std::vector<double> written(many);
      std::iota(written.begin(), written.end(), 1.0);
      const hid_t access = H5Pcreate(H5P_FILE_ACCESS), creation = H5Pcreate(H5P_DATASET_CREATE);
      H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110);
      const hid_t raw = H5Fcreate(file("x.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
      const std::array<hsize_t, 2> size = {1, many}, chunk = {1, 1};
      H5Pset_chunk(creation, 2, chunk.data());
      if (filtered) H5Pset_fletcher32(creation);
      const hid_t space = H5Screate_simple(2, size.data(), most.data());
      const hid_t made = H5Dcreate2(raw, "x", H5T_IEEE_F64LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
      EXPECT_GE(H5Dwrite(made, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, written.data()), 0);
      H5Dclose(made);
      H5Sclose(space);
      H5Fclose(raw);
      H5Pclose(creation);
      H5Pclose(access);
      const Hdf5Dataset x = Hdf5File::open(file("x.h5")).dataset("x");
      std::vector<double> found(many);
      x.read_all(found);
      EXPECT_EQ(found, written) << most[0] << ' ' << most[1];
    }
  }
}

class Hdf5Exchange : public DumpTest {};

/// Other files take the name of the file while it is opened. All attributes and data must come from one file.
TEST_F(Hdf5Exchange, AllDataComeFromOneFile) {
  const std::array<std::int64_t, 1> origin = {0}, shape = {1};
  for (const char* name : {"0.h5", "1.h5"}) {
    Hdf5Writer out = create_hdf5_file(file(name));
    const double which = name[0] - '0';
    out.set_attribute("which", which);
    out.create_dataset("x", shape, Hdf5Writer::Type::real).write(origin, shape, std::span(&which, 1));
    out.close();
  }
  const std::string path = file("x.h5");
  std::filesystem::create_symlink("0.h5", path);
  const std::jthread exchange([&](const std::stop_token& stop) {
    for (int n = 1; !stop.stop_requested(); n = 1 - n) {
      std::filesystem::create_symlink(n == 0 ? "0.h5" : "1.h5", path + ".new");
      std::filesystem::rename(path + ".new", path);
    }
  });
  std::array<int, 2> seen{};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (int n = 0; n < 3000 || (std::min(seen[0], seen[1]) == 0 && std::chrono::steady_clock::now() < deadline); ++n) {
    const Hdf5File in = Hdf5File::open(path);
    double value = -1.0;
    in.dataset("x").read_all(std::span(&value, 1));
    ASSERT_EQ(in.attributes().real("which"), value) << n;
    ++seen[static_cast<std::size_t>(value)];
  }
  EXPECT_GT(seen[0], 0);
  EXPECT_GT(seen[1], 0);
}

}
}
