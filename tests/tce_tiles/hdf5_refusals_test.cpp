#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/stat.h>

#include <array>
#include <functional>
#include <numeric>

#include "cxx/base/error.hpp"
#include "tce_tiles/hdf5/hdf5_checksums.hpp"
#include "tce_tiles/hdf5/hdf5_file.hpp"
#include "tests/tce_tiles/dump_test_data.hpp"
#include "tests/tce_tiles/nwchem_test_data.hpp"

/// Files with incomplete data, or with data that are stored in an unusual way.
namespace trifuse::testing {
namespace {

class Hdf5Refusals : public DumpTest {
 protected:
  enum class Format { oldest, newest };

  /// Writes a file with the HDF5 library, as another program would.
  void make(const std::function<void(hid_t)>& fill, Format format = Format::newest) {
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (format == Format::newest) H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110);
    const hid_t raw = H5Fcreate(path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
    fill(raw);
    H5Fclose(raw);
    H5Pclose(access);
  }
  std::string path() const { return file("x.h5"); }

  /// Creates dataset "x" and writes its first `count` elements of each axis. Empty `count`: writes nothing.
  static void dataset(
      hid_t raw, std::vector<hsize_t> extent, const std::vector<hsize_t>& count, hid_t type,
      const std::function<void(hid_t)>& properties = [](hid_t) {}) {
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    properties(creation);
    const hid_t space = H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr);
    const hid_t made = H5Dcreate2(raw, "x", type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    ASSERT_GE(made, 0);
    if (!count.empty()) {
      const std::vector<hsize_t> start(extent.size(), 0);
      H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
      const hid_t memory = H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr);
      std::vector<double> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(memory)));
      std::iota(values.begin(), values.end(), 1.0);
      EXPECT_GE(H5Dwrite(made, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values.data()), 0);
      H5Sclose(memory);
    }
    H5Dclose(made);
    H5Sclose(space);
    H5Pclose(creation);
  }
  static std::function<void(hid_t)> chunks(std::vector<hsize_t> shape, bool compressed = false) {
    return [=](hid_t creation) {
      H5Pset_chunk(creation, static_cast<int>(shape.size()), shape.data());
      if (compressed) H5Pset_shuffle(creation), H5Pset_deflate(creation, 4), H5Pset_fletcher32(creation);
    };
  }

  void expect_refused(const std::string& words) const {
    const std::string text = message<InputError>([&] { Hdf5File::open(path()).dataset("x"); });
    EXPECT_NE(text.find(words), std::string::npos) << text;
    EXPECT_TRUE(text.starts_with(path() + ": ")) << text;
  }
  void expect_file_refused(const std::string& words) const {
    const std::string text = message<InputError>([&] { Hdf5File::open(path()); });
    EXPECT_NE(text.find(words), std::string::npos) << text;
    EXPECT_TRUE(text.starts_with(path() + ": ")) << text;
  }
  static void renew_superblock_sum(std::string& content) {
    constexpr std::size_t bytes = 44;
    const std::uint32_t sum = hdf5_lookup3(std::string_view(content).substr(0, bytes));
    for (std::size_t k = 0; k < 4; ++k) content[bytes + k] = static_cast<char>(sum >> (8 * k) & 0xffU);
  }
  std::vector<double> values(const char* name = "x") const {
    const Hdf5File in = Hdf5File::open(path());
    const Hdf5Dataset x = in.dataset(name);
    std::vector<double> all(static_cast<std::size_t>(x.size()));
    x.read_all(all);
    return all;
  }
};

TEST_F(Hdf5Refusals, DatasetsThatWereNotWrittenInFull) {
  for (const Format format : {Format::oldest, Format::newest}) {
    make([](hid_t raw) { dataset(raw, {3, 4}, {}, H5T_IEEE_F64LE); }, format);
    expect_refused("dataset 'x' was never written");
    for (const bool compressed : {false, true}) {
      make([&](hid_t raw) { dataset(raw, {7, 5}, {}, H5T_IEEE_F64LE, chunks({2, 2}, compressed)); }, format);
      expect_refused("dataset 'x' was never written");
      make([&](hid_t raw) { dataset(raw, {7, 5}, {7, 4}, H5T_IEEE_F64LE, chunks({2, 2}, compressed)); }, format);
      expect_refused("dataset 'x' was written only in part");
      make([&](hid_t raw) { dataset(raw, {7, 5}, {6, 5}, H5T_IEEE_F64LE, chunks({2, 2}, compressed)); }, format);
      expect_refused("dataset 'x' was written only in part");
      make([&](hid_t raw) { dataset(raw, {7, 5}, {7, 5}, H5T_IEEE_F64LE, chunks({2, 2}, compressed)); }, format);
      EXPECT_EQ(values()[34], 35.0);
    }
  }
}

TEST_F(Hdf5Refusals, OneChunkAndChunksWithoutAnIndexAreRead) {
  make([](hid_t raw) { dataset(raw, {7, 5}, {7, 5}, H5T_IEEE_F64LE, chunks({7, 5})); });
  EXPECT_EQ(values()[34], 35.0);
  make([](hid_t raw) { dataset(raw, {7, 5}, {7, 5}, H5T_IEEE_F64LE, chunks({7, 5}, true)); });
  EXPECT_EQ(values()[34], 35.0);
  make([](hid_t raw) {
    dataset(raw, {7, 5}, {7, 5}, H5T_IEEE_F64LE, [](hid_t creation) {
      chunks({2, 2})(creation);
      H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
    });
  });
  EXPECT_EQ(values()[34], 35.0);
  // With this many chunks the index has several levels.
  for (const Format format : {Format::oldest, Format::newest}) {
    make([](hid_t raw) { dataset(raw, {80, 90}, {80, 90}, H5T_IEEE_F64LE, chunks({1, 2}, true)); }, format);
    EXPECT_EQ(values()[7199], 7200.0);
  }
}

TEST_F(Hdf5Refusals, DataInOtherFiles) {
  make([&](hid_t raw) {
    dataset(raw, {3, 4}, {3, 4}, H5T_IEEE_F64LE,
            [&](hid_t creation) { H5Pset_external(creation, file("other").c_str(), 0, H5F_UNLIMITED); });
  });
  expect_refused("dataset 'x' has its data in another file");
  make([&](hid_t raw) {
    dataset(raw, {3}, {}, H5T_IEEE_F64LE, [&](hid_t creation) {
      const hsize_t extent = 3;
      const hid_t space = H5Screate_simple(1, &extent, nullptr);
      H5Pset_virtual(creation, space, "y.h5", "y", space);
      H5Sclose(space);
    });
  });
  expect_refused("dataset 'x' is virtual");
  for (const bool external : {false, true}) {
    make([&](hid_t raw) {
      external ? H5Lcreate_external("y.h5", "/y", raw, "x", H5P_DEFAULT, H5P_DEFAULT)
               : H5Lcreate_soft("/y", raw, "x", H5P_DEFAULT, H5P_DEFAULT);
    });
    expect_refused("'x' is a link to another place");
  }
}

TEST_F(Hdf5Refusals, FiltersThatLoseDigitsOrLoadCode) {
  make([](hid_t raw) {
    dataset(raw, {64}, {64}, H5T_STD_I32LE, [](hid_t creation) {
      chunks({8})(creation);
      H5Pset_scaleoffset(creation, H5Z_SO_INT, 0);
    });
  });
  expect_refused("dataset 'x' is stored with filter 6 of HDF5, which Trifuse does not read");
  make([](hid_t raw) {
    dataset(raw, {64}, {}, H5T_STD_I32LE, [](hid_t creation) {
      chunks({8})(creation);
      H5Pset_filter(creation, 32001, H5Z_FLAG_OPTIONAL, 0, nullptr);
    });
  });
  expect_refused("dataset 'x' is stored with filter 32001 of HDF5");
  unsigned before = 0, after = 0;
  H5PLget_loading_state(&before);
  EXPECT_THROW(Hdf5File::open(path()).dataset("x"), InputError);
  H5PLget_loading_state(&after);
  EXPECT_EQ(before, after);
}

TEST_F(Hdf5Refusals, NumbersOfUnusualKinds) {
  const hid_t odd = H5Tcopy(H5T_STD_I32LE);
  H5Tset_precision(odd, 17);
  make([&](hid_t raw) { dataset(raw, {3}, {3}, odd); });
  expect_refused("dataset 'x' holds integers of an unusual size");
  H5Tclose(odd);
  const hid_t half = H5Tcopy(H5T_IEEE_F32LE);
  H5Tset_fields(half, 15, 10, 5, 0, 10);
  H5Tset_precision(half, 16);
  H5Tset_size(half, 2);
  H5Tset_ebias(half, 15);
  for (const hid_t type : {half, H5T_NATIVE_LDOUBLE, H5T_VAX_F64}) {
    make([&](hid_t raw) { dataset(raw, {3}, {}, type); });
    expect_refused("dataset 'x' holds floating-point numbers that are not IEEE numbers");
  }
  H5Tclose(half);
  for (const hid_t type : {H5T_IEEE_F32BE, H5T_IEEE_F64BE, H5T_STD_I16BE, H5T_STD_U8LE, H5T_STD_U64LE}) {
    make([&](hid_t raw) { dataset(raw, {3}, {3}, type); });
    EXPECT_EQ(values(), (std::vector<double>{1, 2, 3}));
  }
}

TEST_F(Hdf5Refusals, SizesThatTheFileCannotHold) {
  for (const Format format : {Format::oldest, Format::newest}) {
    for (const bool compressed : {false, true}) {
      // Only one of very many chunks was written.
      const hsize_t huge = hsize_t{1} << 24;
      make([&](hid_t raw) { dataset(raw, {1, huge}, {1, 8}, H5T_IEEE_F64LE, chunks({1, 8}, compressed)); }, format);
      expect_refused(!(compressed && format == Format::newest) ? "claims more numbers than this file of"
                                                               : "was written only in part");
    }
  }
  make([](hid_t raw) { dataset(raw, {1, 1 << 26}, {}, H5T_IEEE_F64LE, chunks({1, 1 << 26}, true)); });
  expect_refused("has chunks of more than 256 MiB");
}

TEST_F(Hdf5Refusals, FilesInUseByAWriter) {
  make([](hid_t raw) { dataset(raw, {3}, {3}, H5T_IEEE_F64LE); });
  const hid_t raw = H5Fopen(path().c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  expect_file_refused("in use by a writer");
  H5Fclose(raw);
  EXPECT_EQ(values().size(), 3U);
  // A killed writer leaves a mark in the superblock.
  std::string content = read_text(path());
  content[11] = 1;
  renew_superblock_sum(content);
  write_text(path(), content);
  expect_file_refused("in use by a writer");
}

TEST_F(Hdf5Refusals, NamesThatNoWriterCanWrite) {
  make([](hid_t raw) { H5Lcreate_soft("/y", raw, "a_b", H5P_DEFAULT, H5P_DEFAULT); }, Format::oldest);
  std::string content = read_text(path());
  content.replace(content.find("a_b"), 3, "a/b");
  write_text(path(), content);
  expect_file_refused("the file is damaged");
}

TEST_F(Hdf5Refusals, PipesLinkLoopsAndAbsentFiles) {
  ASSERT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);
  EXPECT_EQ(message<InputError>([&] { Hdf5File::open(file("pipe")); }),
            file("pipe") + ": this is not a regular file; name a Trifuse dump.");
  std::filesystem::create_symlink("loop", file("loop"));
  EXPECT_NE(message<InputError>([&] { Hdf5File::open(file("loop")); }).find("cannot be read"), std::string::npos);
  EXPECT_NE(message<InputError>([&] { Hdf5File::open(file("absent")); }).find("file does not exist"),
            std::string::npos);
}

/// Strings of variable length as h5py writes them. `others`: number of further attributes; many of them make HDF5 use
/// another kind of storage.
class VariableStrings : public Hdf5Refusals {
 protected:
  void make_strings(Format format, int others) {
    make(
        [&](hid_t raw) {
          const hid_t scalar = H5Screate(H5S_SCALAR), type = H5Tcopy(H5T_C_S1);
          H5Tset_size(type, H5T_VARIABLE);
          H5Tset_cset(type, H5T_CSET_UTF8);
          for (const auto& [name, value] : texts_) {
            const char* const text = value.c_str();
            const hid_t made = H5Acreate2(raw, name.c_str(), type, scalar, H5P_DEFAULT, H5P_DEFAULT);
            H5Awrite(made, type, &text);
            H5Aclose(made);
          }
          for (int n = 0; n < others; ++n) {
            const std::string name = "number " + std::to_string(n);
            H5Aclose(H5Acreate2(raw, name.c_str(), H5T_STD_I64LE, scalar, H5P_DEFAULT, H5P_DEFAULT));
          }
          H5Tclose(type);
          H5Sclose(scalar);
        },
        format);
  }

  const std::map<std::string, std::string> texts_ = {
      {"format", "trifuse-dump"}, {"empty", ""}, {"comment", std::string(3000, 'c')}, {"molecule", "é"}};
};

TEST_F(VariableStrings, AreReadFromEveryKindOfFile) {
  for (const Format format : {Format::oldest, Format::newest}) {
    for (const int others : {0, 12, 24, 200}) {
      make_strings(format, others);
      const Hdf5File in = Hdf5File::open(path());
      for (const auto& [name, value] : texts_) EXPECT_EQ(in.attributes().string(name), value) << others;
      EXPECT_EQ(in.attributes().string("absent"), std::nullopt);
    }
  }
}

/// Changes each byte of the heap and of the header. The HDF5 library crashes or hangs in many of these cases.
TEST_F(VariableStrings, WithADamagedByteAreReadOrRefused) {
  for (const Format format : {Format::oldest, Format::newest}) {
    make_strings(format, 12);
    const std::string sound = read_text(path());
    const std::size_t heap = sound.find("GCOL");
    ASSERT_NE(heap, std::string::npos);
    int refused = 0;
    for (std::size_t at = 0; at < std::min(sound.size(), std::size_t{6000}); ++at) {
      if (at > 2500 && (at < heap || at > heap + 200)) continue;
      for (const int change : {0x01, 0x80, 0xff}) {
        std::string damaged = sound;
        damaged[at] = static_cast<char>(damaged[at] ^ change);
        write_text(path(), damaged);
        try {
          const Hdf5File in = Hdf5File::open(path());
          for (const auto& [name, value] : texts_) in.attributes().string(name);
        } catch (const InputError& error) {
          ++refused;
          EXPECT_TRUE(std::string(error.what()).starts_with(path() + ": "));
        }
      }
    }
    EXPECT_GT(refused, 500);
  }
}

}
}
