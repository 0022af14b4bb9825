#include "tce_tiles/nwchem_source.hpp"

#include <fmt/format.h>

#include <fmt/ranges.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "cxx/base/error.hpp"
#include "tce_tiles/blocks.hpp"
#include "tce_tiles/nwchem_energies.hpp"
#include "tce_tiles/nwchem_integrals.hpp"
#include "tce_tiles/nwchem_layout.hpp"
#include "tce_tiles/nwchem_payload.hpp"
#include "tce_tiles/nwchem_table.hpp"

namespace trifuse {

namespace {

class NwchemSource final : public TileSource {
 public:
  NwchemSource(const NwchemLocation& location, NwchemTensors files, NwchemTable table, NwchemOrbitals orbitals)
      : space_(std::move(table.space)),
        f1_(std::move(files.f1)),
        t1_(std::move(files.t1)),
        t2_(std::move(files.t2)),
        f1_offsets_(PairOffsets::f1(space_)),
        t1_offsets_(PairOffsets::t1(space_)),
        t2_offsets_(QuadOffsets::t2(space_)) {
    info_.path = location.prefix;
    info_.format = "NWChem files";
    info_.reference = table.reference;
    info_.correlation_energy = table.calculation.correlation_energy;
    if (table.calculation.bracket_triples && table.calculation.triples) {
      info_.printed_triples = {*table.calculation.bracket_triples, *table.calculation.triples};
    }
    if (files.v2) {
      const bool spatial = files.v2->doubles() != nwchem_sizes(space_).v2_spin_orbital;
      info_.format += spatial ? " (2eorb)" : " (spin-orbital integrals)";
      v2_.emplace(space_, spatial ? V2Storage::spatial : V2Storage::spin_orbital, std::move(*files.v2));
    }
    std::vector<double> fock;
    if (f1_) fock = energies_from_fock(space_, table.reference, *f1_);
    const bool listed = energies_from_list(space_, table.calculation).has_value();
    const NwchemMovecs* movecs = listed ? orbitals.known() : orbitals.get();
    ChosenEnergies chosen =
        choose_energies(space_, {&table.calculation, table.output, movecs, fock, f1_ ? f1_->path() : ""});
    energies_ = std::move(chosen.energies);

    // Names without their folder: the path is known, and provenance travels in converted dumps.
    const auto note = [&](const char* key, std::string value) { info_.provenance.emplace_back(key, std::move(value)); };
    const auto name_of = [](const std::string& path) { return std::filesystem::path(path).filename().string(); };
    const auto without_folder = [&](std::string text) {
      const std::string folder = std::filesystem::path(t1_.path()).parent_path().string() + "/";
      if (const auto at = text.find(folder); folder != "/" && at != std::string::npos) text.erase(at, folder.size());
      return text;
    };
    note("program", "NWChem TCE");
    if (movecs != nullptr && !movecs->title.empty()) note("title", movecs->title);
    note("tile table", without_folder(table.origin));
    note("orbital energies", without_folder(chosen.origin));
    std::string names = name_of(t1_.path()) + ", " + name_of(t2_.path());
    if (f1_) names += ", " + name_of(f1_->path());
    if (v2_) names += ", " + name_of(v2_->payload().path());
    note("files", std::move(names));
    if (table.calculation.scf_energy) note("SCF energy", fmt::format("{:.12f}", *table.calculation.scf_energy));
  }

  const SourceInfo& info() const override { return info_; }
  const TileSpace& tiles() const override { return space_; }
  std::span<const double> orbital_energies() const override { return energies_; }
  bool has_integrals() const override { return v2_.has_value(); }
  bool has_fock() const override { return f1_.has_value(); }

  void read_fock(int g6, int g5, std::span<double> block) const override {
    check(f1_.has_value() && in_range(g6) && in_range(g5) && block_exists(space_, g6, g5), "F1", {g6, g5},
          block.size());
    f1_->read_finite(f1_offsets_.offset(g6, g5), block, [&] { return name("F1", {g6, g5}); });
  }
  void read_t1(int p, int h, std::span<double> block) const override {
    check(particle(p) && hole(h) && block_exists(space_, p, h), "T1", {p, h}, block.size());
    t1_.read_finite(t1_offsets_.offset(p, h), block, [&] { return name("T1", {p, h}); });
  }
  void read_t2(int p1, int p2, int h3, int h4, std::span<double> block) const override {
    check(particle(p1) && particle(p2) && hole(h3) && hole(h4) && p1 <= p2 && h3 <= h4 &&
              block_exists(space_, p1, p2, h3, h4),
          "T2", {p1, p2, h3, h4}, block.size());
    t2_.read_finite(t2_offsets_.offset(p1, p2, h3, h4), block, [&] { return name("T2", {p1, p2, h3, h4}); });
  }
  void read_v2(int g3, int g4, int g1, int g2, std::span<double> block) const override {
    check(v2_.has_value() && in_range(g3) && in_range(g4) && in_range(g1) && in_range(g2) && g3 <= g4 && g1 <= g2 &&
              block_exists(space_, g3, g4, g1, g2),
          "V2", {g3, g4, g1, g2}, block.size());
    v2_->read(g3, g4, g1, g2, block);
  }

 private:
  bool in_range(int t) const { return t >= 0 && t < space_.size(); }
  bool hole(int t) const { return in_range(t) && t < space_.hole_tiles(); }
  bool particle(int t) const { return in_range(t) && t >= space_.hole_tiles(); }

  /// NWChem numbers tiles from 1.
  static std::string name(const char* tensor, std::initializer_list<int> tiles) {
    std::vector<int> numbers;
    for (const int t : tiles) numbers.push_back(t + 1);
    return fmt::format("{} block ({})", tensor, fmt::join(numbers, " "));
  }
  void check(bool exists, const char* tensor, std::initializer_list<int> tiles, std::size_t size) const {
    std::int64_t expected = 1;
    for (const int t : tiles) expected *= in_range(t) ? space_[t].size : 0;
    if (!exists || static_cast<std::int64_t>(size) != expected) {
      throw Error(
          fmt::format("{} of {} does not exist or has another size than {}.", name(tensor, tiles), info_.path, size));
    }
  }

  SourceInfo info_;
  TileSpace space_;
  std::optional<NwchemPayload> f1_;
  NwchemPayload t1_;
  NwchemPayload t2_;
  PairOffsets f1_offsets_;
  PairOffsets t1_offsets_;
  QuadOffsets t2_offsets_;
  std::optional<NwchemIntegrals> v2_;
  std::vector<double> energies_;
};

}  // namespace

std::unique_ptr<TileSource> open_nwchem(const NwchemLocation& location) {
  NwchemTensors files = open_tensors(location);
  NwchemOrbitals orbitals(location, files.prefix);
  NwchemTable table = find_table(location, files, orbitals);
  return std::make_unique<NwchemSource>(location, std::move(files), std::move(table), std::move(orbitals));
}

}  // namespace trifuse
