#include "tce_tiles/hdf5/hdf5_file.hpp"
#include "cxx/base/shape_text.hpp"

#include <gtest/gtest.h>
#include <hdf5.h>

#include <numeric>

#include "cxx/base/error.hpp"
#include "tce_tiles/dense/dense_arrays.hpp"
#include "tce_tiles/hdf5/hdf5_writer.hpp"
#include "tests/tce_tiles/dump_test_data.hpp"

namespace trifuse::testing {
namespace {

class Hdf5FileTest : public DumpTest {};

TEST_F(Hdf5FileTest, AttributesRoundTrip) {
  Hdf5Writer out = create_hdf5_file(file("a.h5"));
  out.set_attribute("text", std::string_view("water é"));
  out.set_attribute("empty", std::string_view(""));
  out.set_attribute("integer", std::int64_t{-5});
  out.set_attribute("real", 0.1);
  out.close();
  const Hdf5File in = Hdf5File::open(file("a.h5"));
  EXPECT_EQ(in.attributes().string("text"), "water é");
  EXPECT_EQ(in.attributes().string("empty"), "");
  EXPECT_EQ(in.attributes().integer("integer"), -5);
  EXPECT_EQ(in.attributes().real("integer"), -5.0);
  EXPECT_EQ(in.attributes().real("real"), 0.1);
  EXPECT_EQ(in.attributes().real("absent"), std::nullopt);
  EXPECT_EQ(in.attributes().string("absent"), std::nullopt);
  EXPECT_EQ(in.attributes().integer("absent"), std::nullopt);
}

TEST_F(Hdf5FileTest, StringAttributesOfOtherWriters) {
  const hid_t raw = H5Fcreate(file("s.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t scalar = H5Screate(H5S_SCALAR);
  const auto fixed = [&](const char* name, H5T_str_t padding, const char* bytes, std::size_t size) {
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, size);
    H5Tset_strpad(type, padding);
    const hid_t attribute = H5Acreate2(raw, name, type, scalar, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, type, bytes);
    H5Aclose(attribute);
    H5Tclose(type);
  };
  fixed("numpy", H5T_STR_NULLPAD, "RHF", 3);
  fixed("c", H5T_STR_NULLTERM, "UHF\0??", 6);
  fixed("fortran", H5T_STR_SPACEPAD, "ROHF    ", 8);
  const hsize_t two = 2;
  const hid_t pair = H5Screate_simple(1, &two, nullptr);
  H5Aclose(H5Acreate2(raw, "pair", H5T_NATIVE_INT, pair, H5P_DEFAULT, H5P_DEFAULT));
  H5Sclose(pair);
  H5Sclose(scalar);
  H5Fclose(raw);
  const Hdf5File in = Hdf5File::open(file("s.h5"));
  EXPECT_EQ(in.attributes().string("numpy"), "RHF");
  EXPECT_EQ(in.attributes().string("c"), "UHF");
  EXPECT_EQ(in.attributes().string("fortran"), "ROHF");
  EXPECT_EQ(message<InputError>([&] { in.attributes().integer("pair"); }),
            file("s.h5") + ": attribute 'pair' must hold a single value; write it as a scalar.");
}

TEST_F(Hdf5FileTest, BoxesOfDatasets) {
  const std::vector<std::int64_t> shape = {3, 4, 5};
  std::vector<double> values(60);
  std::iota(values.begin(), values.end(), 0.0);
  Hdf5Writer out = create_hdf5_file(file("d.h5"));
  for (const bool chunked : {false, true}) {
    const std::vector<std::int64_t> chunk = {1, 2, 5};
    const Hdf5NewDataset dataset = out.create_dataset(chunked ? "chunked" : "plain", shape, Hdf5Writer::Type::real,
                                                      chunked ? chunk : std::vector<std::int64_t>());
    for (std::int64_t k = 0; k < 3; ++k) {
      dataset.write(std::array<std::int64_t, 3>{k, 0, 0}, std::array<std::int64_t, 3>{1, 4, 5},
                    std::span(values).subspan(static_cast<std::size_t>(20 * k), 20));
    }
  }
  out.create_dataset("none", std::vector<std::int64_t>{0, 7}, Hdf5Writer::Type::integer);
  out.close();
  const Hdf5File in = Hdf5File::open(file("d.h5"));
  for (const char* name : {"plain", "chunked"}) {
    const Hdf5Dataset dataset = in.dataset(name);
    EXPECT_EQ(dataset.size(), 60);
    EXPECT_FALSE(dataset.is_integer());
    std::vector<double> box(4);
    dataset.read(std::array<std::int64_t, 3>{1, 2, 3}, std::array<std::int64_t, 3>{2, 1, 2}, box);
    EXPECT_EQ(box, (std::vector<double>{33, 34, 53, 54}));
    // A box outside the dataset is an error.
    const std::string text = message<InputError>([&] {
      dataset.read(std::array<std::int64_t, 3>{2, 2, 3}, std::array<std::int64_t, 3>{2, 1, 2}, box);
    });
    EXPECT_NE(text.find(std::string("reading dataset '") + name + "' failed (the box from [2,2,3] on"),
              std::string::npos)
        << text;
  }
  EXPECT_TRUE(in.has("none"));
  EXPECT_FALSE(in.has("nothing"));
  EXPECT_EQ(shape_text(in.dataset("none").shape()), "[0,7]");
  EXPECT_TRUE(in.dataset("none").is_integer());
  in.dataset("none").read_all({});
}

/// Trifuse reads long runs of doubles without the HDF5 library.
TEST_F(Hdf5FileTest, LongBoxesOfDatasetsOfEveryKind) {
  const std::vector<std::int64_t> shape = {3, 5, 2, 700};
  std::vector<double> values(3 * 5 * 2 * 700);
  std::iota(values.begin(), values.end(), 0.0);
  Hdf5Writer out = create_hdf5_file(file("b.h5"));
  const std::vector<std::int64_t> origin(4, 0);
  out.create_dataset("plain", shape, Hdf5Writer::Type::real).write(origin, shape, values);
  out.create_dataset("chunked", shape, Hdf5Writer::Type::real, std::vector<std::int64_t>{2, 2, 1, 300})
      .write(origin, shape, values);
  out.create_dataset("integers", shape, Hdf5Writer::Type::integer).write(origin, shape, values);
  out.close();
  // Datasets of other programs: the other byte order, behind a user block.
  const hid_t properties = H5Pcreate(H5P_FILE_CREATE);
  H5Pset_userblock(properties, 1024);
  const hid_t raw = H5Fcreate(file("c.h5").c_str(), H5F_ACC_TRUNC, properties, H5P_DEFAULT);
  const std::vector<hsize_t> extent(shape.begin(), shape.end());
  const hid_t space = H5Screate_simple(4, extent.data(), nullptr);
  for (const auto& [name, type] : {std::pair{"plain", H5T_IEEE_F64LE}, {"opposite", H5T_IEEE_F64BE}}) {
    const hid_t dataset = H5Dcreate2(raw, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    H5Dclose(dataset);
  }
  H5Sclose(space);
  H5Fclose(raw);
  H5Pclose(properties);
  for (const auto& [path, names] :
       {std::pair{file("b.h5"), std::vector{"plain", "chunked", "integers"}}, {file("c.h5"), {"plain", "opposite"}}}) {
    const Hdf5File in = Hdf5File::open(path);
    for (const std::string name : names) {
      const Hdf5Dataset dataset = in.dataset(name);
      for (const auto& [offset, count] :
           std::vector<std::pair<std::array<std::int64_t, 4>, std::array<std::int64_t, 4>>>{
               {{0, 0, 0, 0}, {3, 5, 2, 700}},
               {{1, 0, 0, 0}, {2, 5, 2, 700}},
               {{0, 1, 0, 0}, {3, 3, 2, 700}},
               {{0, 1, 1, 0}, {3, 3, 1, 700}},
               {{1, 2, 1, 10}, {2, 3, 1, 690}},
               {{2, 4, 0, 5}, {1, 1, 2, 300}},
               {{0, 4, 0, 699}, {3, 1, 2, 1}},
               {{2, 1, 1, 3}, {1, 1, 1, 2}},
               {{0, 0, 0, 0}, {3, 1, 1, 600}}}) {
        std::vector<double> box(static_cast<std::size_t>(count[0] * count[1] * count[2] * count[3]), -1.0);
        dataset.read(offset, count, box);
        auto value = box.begin();
        for (std::int64_t w = offset[0]; w < offset[0] + count[0]; ++w) {
          for (std::int64_t x = offset[1]; x < offset[1] + count[1]; ++x) {
            for (std::int64_t y = offset[2]; y < offset[2] + count[2]; ++y) {
              for (std::int64_t z = offset[3]; z < offset[3] + count[3]; ++z) {
                ASSERT_EQ(*value++, static_cast<double>(((w * 5 + x) * 2 + y) * 700 + z)) << name;
              }
            }
          }
        }
      }
    }
  }
}

TEST_F(Hdf5FileTest, TruncatedFilesAndBoxesOutsideThrow) {
  const std::vector<std::int64_t> shape = {4, 1000}, origin = {0, 0};
  Hdf5Writer out = create_hdf5_file(file("e.h5"));
  out.create_dataset("x", shape, Hdf5Writer::Type::real).write(origin, shape, std::vector<double>(4000, 1.0));
  out.close();
  const Hdf5File in = Hdf5File::open(file("e.h5"));
  const Hdf5Dataset dataset = in.dataset("x");
  std::vector<double> box(4000);
  const auto sentence = [&](std::int64_t from) {
    return message<InputError>([&] { dataset.read(std::array{from, std::int64_t{0}}, shape, box); });
  };
  EXPECT_TRUE(sentence(1).starts_with(file("e.h5") + ": reading dataset 'x' failed (the box from [1,0] on"))
      << sentence(1);
  std::filesystem::resize_file(file("e.h5"), std::filesystem::file_size(file("e.h5")) - 8000);
  EXPECT_EQ(sentence(0), file("e.h5") +
                             ": reading dataset 'x' failed (it became shorter while it was read); write "
                             "or copy the file again.");
}

TEST_F(Hdf5FileTest, KeepsTheErrorPrintingOfTheProgram) {
  H5E_auto2_t before = nullptr, after = nullptr;
  void *before_data = nullptr, *after_data = nullptr;
  H5Eget_auto2(H5E_DEFAULT, &before, &before_data);
  EXPECT_NE(before, nullptr);
  EXPECT_THROW(Hdf5File::open(file("absent.h5")), InputError);
  { create_hdf5_file(file("x.h5")); }
  EXPECT_THROW(Hdf5File::open(file("x.h5")).dataset("absent"), InputError);
  H5Eget_auto2(H5E_DEFAULT, &after, &after_data);
  EXPECT_EQ(before, after);
  EXPECT_EQ(before_data, after_data);
}

TEST_F(Hdf5FileTest, SignatureBehindAUserBlock) {
  const hid_t creation = H5Pcreate(H5P_FILE_CREATE);
  H5Pset_userblock(creation, 1024);
  H5Fclose(H5Fcreate(file("u.h5").c_str(), H5F_ACC_TRUNC, creation, H5P_DEFAULT));
  H5Pclose(creation);
  EXPECT_TRUE(is_hdf5(file("u.h5")));
  EXPECT_FALSE(is_hdf5(directory_.string()));
}

TEST_F(Hdf5FileTest, LeavesNoObjectsOpen) {
  {
    Hdf5Writer out = create_hdf5_file(file("x.h5"));
    const std::vector<std::int64_t> origin = {0}, shape = {2};
    out.create_dataset("d", shape, Hdf5Writer::Type::real).write(origin, shape, std::vector<double>(2, 1.0));
    out.set_attribute("a", 1.0);
    out.close();
    const Hdf5File in = Hdf5File::open(file("x.h5"));
    in.dataset("d");
    in.attributes().real("a");
    EXPECT_THROW(in.attributes().string("a"), InputError);
  }
  EXPECT_EQ(H5Fget_obj_count(static_cast<hid_t>(H5F_OBJ_ALL), H5F_OBJ_ALL), 0);
}

}
}
