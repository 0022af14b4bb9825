#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "cxx/base/error.hpp"
#include "tce_tiles/checks/dense_check.hpp"
#include "tce_tiles/dense/dense_input.hpp"
#include "tce_tiles/dump_files/dump_file.hpp"
#include "tce_tiles/hdf5/hdf5_file.hpp"
#include "tce_tiles/hdf5/hdf5_writer.hpp"
#include "tce_tiles/tiles/blocks.hpp"
#include "tce_tiles/tiles/memory_source.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

/// Random molecules as dense spin-orbital tensors. Tests compare the elements of tiles with them.
namespace trifuse::testing {

/// Creates the file `path` and begins an HDF5 file in it. Replaces an existing file.
inline Hdf5Writer create_hdf5_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) throw SystemError(path + " cannot be created.");
  Hdf5Writer file = Hdf5Writer::create(descriptor, path);
  ::close(descriptor);
  return file;
}

struct OrbitalSet {
  Reference reference = Reference::rhf;
  std::array<std::vector<int>, 4> irreps;  ///< by orbital class: hole alpha, hole beta, particle alpha, particle beta
};

inline OrbitalSet closed_shell(std::vector<int> holes, std::vector<int> particles) {
  return {Reference::rhf, {holes, holes, particles, particles}};
}

/// All tensors over spin orbitals in sorted order. Integrals come from random (pq|rs) with all permutational symmetry.
class DenseMolecule {
 public:
  DenseMolecule(OrbitalSet set, unsigned seed) : orbitals_(std::move(set)), random_(seed) {
    std::array<std::size_t, 2> next{};
    for (const OrbitalClass c : orbital_classes) {
      const std::size_t s = spin_of(c) == Spin::alpha ? 0 : 1;
      for (const int irrep : orbitals_.irreps[static_cast<std::size_t>(c)]) {
        class_.push_back(c);
        irrep_.push_back(irrep);
        spatial_.push_back(next[s]++);
        energy.push_back(number() + (space_of(c) == Space::hole ? -2.0 : 2.0));
      }
    }
    n_ = class_.size();
    if (restricted()) {
      for (std::size_t p = 0; p < n_; ++p) energy[p] = energy[alpha_partner(p)];
    }
    make_integrals();
    make_amplitudes();
  }

  bool restricted() const { return orbitals_.reference == Reference::rhf; }
  Reference reference() const { return orbitals_.reference; }
  const OrbitalSet& orbitals() const { return orbitals_; }
  std::size_t size() const { return n_; }
  std::size_t first(OrbitalClass c) const {
    std::size_t p = 0;
    while (p < n_ && class_[p] < c) ++p;
    return p;
  }
  std::size_t count(OrbitalClass c) const { return orbitals_.irreps[static_cast<std::size_t>(c)].size(); }

  double mulliken(std::size_t p, std::size_t q, std::size_t r, std::size_t s) const {
    return spin(p) == spin(q) && spin(r) == spin(s) ? mulliken_[at(p, q, r, s)] : 0.0;
  }
  double v2(std::size_t p, std::size_t q, std::size_t r, std::size_t s) const {
    return mulliken(p, r, q, s) - mulliken(p, s, q, r);
  }
  double t1(std::size_t a, std::size_t i) const { return t1_[a * n_ + i]; }
  double t2(std::size_t a, std::size_t b, std::size_t i, std::size_t j) const { return t2_[at(a, b, i, j)]; }
  double fock(std::size_t p, std::size_t q) const { return fock_[p * n_ + q]; }

  std::vector<OrbitalRange> ranges() const {
    std::vector<OrbitalRange> ranges;
    for (std::size_t p = 0; p < n_; ++p) {
      if (ranges.empty() || ranges.back().orbital_class != class_[p] || ranges.back().irrep != irrep_[p]) {
        ranges.push_back({class_[p], irrep_[p], 0});
      }
      ++ranges.back().size;
    }
    return ranges;
  }

  std::vector<double> energy;

 private:
  Spin spin(std::size_t p) const { return spin_of(class_[p]); }
  bool hole(std::size_t p) const { return space_of(class_[p]) == Space::hole; }
  std::size_t at(std::size_t p, std::size_t q, std::size_t r, std::size_t s) const {
    return ((p * n_ + q) * n_ + r) * n_ + s;
  }
  double number() { return uniform_(random_); }

  /// For closed shells: the alpha orbital with the same spatial part.
  std::size_t alpha_partner(std::size_t p) const {
    if (spin(p) == Spin::alpha) return p;
    const auto alpha = static_cast<OrbitalClass>(static_cast<int>(class_[p]) - 1);
    return p - first(class_[p]) + first(alpha);
  }
  std::size_t spatial_id(std::size_t p) const { return restricted() ? alpha_partner(p) : p; }

  void make_integrals() {
    mulliken_.assign(n_ * n_ * n_ * n_, 0.0);
    fock_.assign(n_ * n_, 0.0);
    std::map<std::array<std::size_t, 4>, double> drawn;
    for (std::size_t p = 0; p < n_; ++p) {
      for (std::size_t q = 0; q < n_; ++q) {
        if (spin(p) != spin(q)) continue;
        if (irrep_[p] == irrep_[q]) {
          const std::size_t x = spatial_id(p), y = spatial_id(q);
          auto [it, is_new] = drawn.try_emplace({n_, n_, std::min(x, y), std::max(x, y)}, 0.0);
          if (is_new) it->second = number();
          fock_[p * n_ + q] = it->second;
        }
        for (std::size_t r = 0; r < n_; ++r) {
          for (std::size_t s = 0; s < n_; ++s) {
            if (spin(r) != spin(s) || (irrep_[p] ^ irrep_[q] ^ irrep_[r] ^ irrep_[s]) != 0) continue;
            std::array<std::size_t, 2> bra = {spatial_id(p), spatial_id(q)}, ket = {spatial_id(r), spatial_id(s)};
            std::sort(bra.begin(), bra.end());
            std::sort(ket.begin(), ket.end());
            if (ket < bra) std::swap(bra, ket);
            auto [it, is_new] = drawn.try_emplace({bra[0], bra[1], ket[0], ket[1]}, 0.0);
            if (is_new) it->second = number();
            mulliken_[at(p, q, r, s)] = it->second;
          }
        }
      }
    }
  }

  void make_amplitudes() {
    t1_.assign(n_ * n_, 0.0);
    t2_.assign(n_ * n_ * n_ * n_, 0.0);
    std::map<std::array<std::size_t, 4>, double> drawn;
    // The opposite-spin amplitudes of a closed shell have the pair symmetry. All other amplitudes follow from them.
    const auto opposite = [&](std::size_t a, std::size_t b, std::size_t i, std::size_t j) {
      const std::array<std::size_t, 2> x = {alpha_partner(a), alpha_partner(i)},
                                       y = {alpha_partner(b), alpha_partner(j)};
      const auto& low = std::min(x, y);
      const auto& high = std::max(x, y);
      auto [it, is_new] = drawn.try_emplace({low[0], low[1], high[0], high[1]}, 0.0);
      if (is_new) it->second = number();
      return it->second;
    };
    for (std::size_t a = 0; a < n_; ++a) {
      for (std::size_t i = 0; i < n_; ++i) {
        if (hole(a) || !hole(i)) continue;
        if (spin(a) == spin(i) && irrep_[a] == irrep_[i]) {
          t1_[a * n_ + i] =
              restricted() && spin(a) == Spin::beta ? t1_[alpha_partner(a) * n_ + alpha_partner(i)] : number();
        }
        for (std::size_t b = a + 1; b < n_; ++b) {
          for (std::size_t j = i + 1; j < n_; ++j) {
            if (hole(b) || !hole(j) || (irrep_[a] ^ irrep_[b] ^ irrep_[i] ^ irrep_[j]) != 0) continue;
            const bool direct = spin(a) == spin(i) && spin(b) == spin(j);
            const bool exchanged = spin(a) == spin(j) && spin(b) == spin(i);
            if (!direct && !exchanged) continue;
            double value = 0.0;
            if (restricted()) {
              value = (direct ? opposite(a, b, i, j) : 0.0) - (exchanged ? opposite(a, b, j, i) : 0.0);
            } else {
              value = number();
            }
            t2_[at(a, b, i, j)] = t2_[at(b, a, j, i)] = value;
            t2_[at(b, a, i, j)] = t2_[at(a, b, j, i)] = -value;
          }
        }
      }
    }
  }

  OrbitalSet orbitals_;
  std::mt19937_64 random_;
  std::uniform_real_distribution<double> uniform_{-1.0, 1.0};
  std::size_t n_ = 0;
  std::vector<OrbitalClass> class_;
  std::vector<int> irrep_;
  std::vector<std::size_t> spatial_;
  std::vector<double> mulliken_, fock_, t1_, t2_;
};

/// Visits the elements of a block in storage order with their spin orbitals.
inline void for_each_element(const TileSpace& space, const Block& block, std::size_t rank,
                             const std::function<void(const std::array<std::size_t, 4>&)>& visit) {
  std::array<std::int64_t, 4> size = {1, 1, 1, 1}, offset{};
  for (std::size_t k = 0; k < rank; ++k) {
    size[k] = space[block.tiles[k]].size;
    offset[k] = space[block.tiles[k]].offset;
  }
  for (std::int64_t w = 0; w < size[0]; ++w) {
    for (std::int64_t x = 0; x < size[1]; ++x) {
      for (std::int64_t y = 0; y < size[2]; ++y) {
        for (std::int64_t z = 0; z < size[3]; ++z) {
          visit({static_cast<std::size_t>(offset[0] + w), static_cast<std::size_t>(offset[1] + x),
                 static_cast<std::size_t>(offset[2] + y), static_cast<std::size_t>(offset[3] + z)});
        }
      }
    }
  }
}

inline MemorySource memory_source(const DenseMolecule& m, std::int64_t hole_tile, std::int64_t particle_tile,
                                  bool fock = true) {
  SourceInfo info;
  info.path = "random";
  info.reference = m.reference();
  info.correlation_energy = -0.125;
  info.provenance = {{"program", "a test"}, {"molecule", "random"}, {"basis", "none"}};
  MemorySource source(TileSpace::partition(m.ranges(), hole_tile, particle_tile, m.restricted()), m.energy, info,
                      {.integrals = true, .fock = fock});
  const TileSpace& space = source.tiles();
  const auto fill = [&](const BlockIndex& index, std::size_t rank, auto element, auto set) {
    for (const Block& b : index.blocks()) {
      std::vector<double> values;
      for_each_element(space, b, rank, [&](const std::array<std::size_t, 4>& p) { values.push_back(element(p)); });
      set(b.tiles, values);
    }
  };
  fill(
      source.fock_index(), 2, [&](const auto& p) { return m.fock(p[0], p[1]); },
      [&](const auto& t, const auto& values) { source.set_fock(t[0], t[1], values); });
  fill(
      source.t1_index(), 2, [&](const auto& p) { return m.t1(p[0], p[1]); },
      [&](const auto& t, const auto& values) { source.set_t1(t[0], t[1], values); });
  fill(
      source.t2_index(), 4, [&](const auto& p) { return m.t2(p[0], p[1], p[2], p[3]); },
      [&](const auto& t, const auto& values) { source.set_t2(t[0], t[1], t[2], t[3], values); });
  fill(
      source.v2_index(), 4, [&](const auto& p) { return m.v2(p[0], p[1], p[2], p[3]); },
      [&](const auto& t, const auto& values) { source.set_v2(t[0], t[1], t[2], t[3], values); });
  return source;
}

/// Expects that each block of `source` has the bits of the dense tensors.
inline void expect_equal(const TileSource& source, const DenseMolecule& m) {
  const TileSpace& space = source.tiles();
  ASSERT_EQ(space.orbitals(), static_cast<std::int64_t>(m.size()));
  const auto energies = source.orbital_energies();
  EXPECT_TRUE(std::equal(energies.begin(), energies.end(), m.energy.begin(), m.energy.end()));
  const auto compare = [&](const char* name, const BlockIndex& index, std::size_t rank, auto read, auto element) {
    for (const Block& b : index.blocks()) {
      std::vector<double> values(static_cast<std::size_t>(b.size), -77.0);
      read(b.tiles, values);
      std::size_t k = 0;
      for_each_element(space, b, rank, [&](const std::array<std::size_t, 4>& p) {
        ASSERT_EQ(values[k++], element(p)) << name << " element " << p[0] << " " << p[1] << " " << p[2] << " " << p[3];
      });
      if (::testing::Test::HasFatalFailure()) return;
    }
  };
  if (source.has_fock()) {
    compare(
        "fock", f1_blocks(space), 2, [&](const auto& t, auto& out) { source.read_fock(t[0], t[1], out); },
        [&](const auto& p) { return m.fock(p[0], p[1]); });
  }
  compare(
      "t1", t1_blocks(space), 2, [&](const auto& t, auto& out) { source.read_t1(t[0], t[1], out); },
      [&](const auto& p) { return m.t1(p[0], p[1]); });
  compare(
      "t2", t2_blocks(space), 4, [&](const auto& t, auto& out) { source.read_t2(t[0], t[1], t[2], t[3], out); },
      [&](const auto& p) { return m.t2(p[0], p[1], p[2], p[3]); });
  if (!source.has_integrals()) return;
  compare(
      "v2", triples_v2_blocks(space), 4, [&](const auto& t, auto& out) { source.read_v2(t[0], t[1], t[2], t[3], out); },
      [&](const auto& p) { return m.v2(p[0], p[1], p[2], p[3]); });
}

/// The contents of a dump. Tests may change them before they are written.
struct RawDump {
  struct Dataset {
    std::vector<std::int64_t> shape;
    std::vector<double> values;
    Hdf5Writer::Type type = Hdf5Writer::Type::real;
  };
  std::map<std::string, std::variant<std::string, std::int64_t, double>> attributes;
  std::map<std::string, Dataset> datasets;

  void write(const std::string& path) const {
    Hdf5Writer file = create_hdf5_file(path);
    for (const auto& [name, value] : attributes) {
      if (const auto* text = std::get_if<std::string>(&value)) {
        file.set_attribute(name, std::string_view(*text));
      } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
        file.set_attribute(name, *integer);
      } else {
        file.set_attribute(name, std::get<double>(value));
      }
    }
    for (const auto& [name, data] : datasets) {
      const std::vector<std::int64_t> origin(data.shape.size(), 0);
      file.create_dataset(name, data.shape, data.type).write(origin, data.shape, data.values);
    }
    file.close();
  }
};

/// Removes the seal of a dump. Then a test may change numbers, and other checks than the seal must notice the change.
inline void remove_seal(const std::string& path) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  EXPECT_GE(H5Ldelete(file, "seal", H5P_DEFAULT), 0);
  EXPECT_GE(H5Adelete(file, "minor_version"), 0);
  EXPECT_GE(H5Adelete(file, "seal_block"), 0);
  H5Fclose(file);
}

inline std::vector<double> check_dense(const std::string& path, const DenseCheck& check = {}) {
  return trifuse::check_dense(DumpFile::open(path), check);
}

/// The dump of `m` as another program would write it, with Mulliken integrals that are not antisymmetrised.
inline RawDump raw_dump(const DenseMolecule& m) {
  RawDump dump;
  dump.attributes = {
      {"format", std::string("trifuse-dump")}, {"version", std::int64_t{1}}, {"reference", to_string(m.reference())}};
  const bool restricted = m.restricted();
  const auto extent = [&](OrbitalClass c) { return static_cast<std::int64_t>(m.count(c)); };
  for (const OrbitalClass c : orbital_classes) {
    if (restricted && spin_of(c) == Spin::beta) continue;
    const auto begin = m.energy.begin() + static_cast<std::ptrdiff_t>(m.first(c));
    const auto& irreps = m.orbitals().irreps[static_cast<std::size_t>(c)];
    dump.datasets[class_dataset("eps", c, restricted)] = {{extent(c)}, {begin, begin + extent(c)}};
    dump.datasets[class_dataset("irrep", c, restricted)] = {
        {extent(c)}, {irreps.begin(), irreps.end()}, Hdf5Writer::Type::integer};
  }
  std::vector<ArraySpec> arrays = amplitude_arrays(restricted);
  const std::vector<ArraySpec> integrals = integral_arrays(restricted);
  arrays.insert(arrays.end(), integrals.begin(), integrals.end());
  for (const ArraySpec& spec : arrays) {
    RawDump::Dataset& data = dump.datasets[spec.name];
    std::array<std::size_t, 4> n = {1, 1, 1, 1}, p{};
    std::array<std::size_t, 4> start{};
    for (std::size_t k = 0; k < spec.axes.size(); ++k) {
      data.shape.push_back(extent(spec.axes[k]));
      n[k] = m.count(spec.axes[k]);
      start[k] = m.first(spec.axes[k]);
    }
    for (p[0] = start[0]; p[0] < start[0] + n[0]; ++p[0]) {
      for (p[1] = start[1]; p[1] < start[1] + n[1]; ++p[1]) {
        for (p[2] = start[2]; p[2] < start[2] + n[2]; ++p[2]) {
          for (p[3] = start[3]; p[3] < start[3] + n[3]; ++p[3]) {
            switch (spec.kind) {
              case ArrayKind::t1:
                data.values.push_back(m.t1(p[1], p[0]));
                break;
              case ArrayKind::t2:
                data.values.push_back(m.t2(p[2], p[3], p[0], p[1]));
                break;
              default:
                data.values.push_back(m.mulliken(p[0], p[1], p[2], p[3]));
                break;
            }
          }
        }
      }
    }
  }
  return dump;
}

/// Gives each test its own directory and removes it afterwards.
class DumpTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    std::string name = std::string(test->test_suite_name()) + "." + test->name() + "." + std::to_string(::getpid());
    std::replace(name.begin(), name.end(), '/', '_');
    directory_ = std::filesystem::temp_directory_path() / ("trifuse-" + name);
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::string file(const std::string& name) const { return (directory_ / name).string(); }

  std::filesystem::path directory_;
};

/// Returns the message of the exception of type E that `action` must throw.
template <typename E>
std::string message(const std::function<void()>& action) {
  try {
    action();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another exception: " << error.what();
    return {};
  }
  ADD_FAILURE() << "no exception";
  return {};
}

}
