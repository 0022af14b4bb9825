#include "tce_tiles/nwchem_files/nwchem_output.hpp"

#include <gtest/gtest.h>

#include "nwchem_test_data.hpp"
#include "tce_tiles/nwchem_files/nwchem_file.hpp"

namespace trifuse::testing {
namespace {

const std::string banner = "                   NWChem Extensible Many-Electron Theory Module\n";
const std::string head =
    "\n Block   Spin    Irrep     Size     Offset   Alpha\n -------------------------------------------------\n";

std::string general(int alpha, int beta, int core, const std::string& wavefunction) {
  return "         Wavefunction type : " + wavefunction + "\n           Alpha electrons : " + std::to_string(alpha) +
         "\n            Beta electrons : " + std::to_string(beta) +
         "\n        Alpha frozen cores : " + std::to_string(core) +
         "\n         Beta frozen cores : " + std::to_string(core) + "\n";
}

class Output : public ::testing::Test {
 protected:
  NwchemOutput read(const std::string& text) {
    const fs::path path = folder_.path() / "x.out";
    write_text(path, text);
    return read_nwchem_output(path.string());
  }
  TileSpace tiles(const std::string& text) { return tiles_of(read(text).calculations.back(), "x.out"); }
  TemporaryFolder folder_;
};

TEST_F(Output, OneCalculation) {
  const NwchemOutput output = read_nwchem_output((nwchem_data() / "h2o_631g_c2v_rhf_t10" / "c.out").string());
  ASSERT_EQ(output.calculations.size(), 1u);
  const TceCalculation& c = output.calculations[0];
  EXPECT_EQ(c.reference, Reference::rhf);
  EXPECT_FALSE(c.kohn_sham);
  EXPECT_EQ(c.electrons[0], 5);
  EXPECT_EQ(c.frozen_core[1], 0);
  EXPECT_EQ(c.orbitals, 13);
  EXPECT_EQ(c.ao_functions, 13);
  EXPECT_TRUE(c.symmetry);
  EXPECT_EQ(c.group, "C2v");
  EXPECT_EQ(c.sorted.size(), 26u);
  EXPECT_EQ(c.sorted[0].energy, open_dump_of("h2o_631g_c2v_rhf_t10")->orbital_energies()[0]);
  EXPECT_TRUE(c.correlation_energy && c.bracket_triples && c.triples && c.scf_energy);
  EXPECT_FALSE(c.orbital_storage);
  EXPECT_TRUE(read_nwchem_output((nwchem_data() / "h2o_631g_c1_rhf_t30_2eorb" / "c.out").string())
                  .calculations[0]
                  .orbital_storage);
  EXPECT_EQ(read_nwchem_output((nwchem_data() / "h2o_631g_c1_rhf_t30_2eorb" / "c.out").string()).version, "7.0.2");
}

TEST_F(Output, SeveralCalculationsAreKeptApart) {
  const std::string first = read_text(nwchem_data() / "h2o_631g_c2v_rhf_t10" / "c.out");
  const std::string second = read_text(nwchem_data() / "ch2_631g_c1_uhf_t3" / "c.out");
  const NwchemOutput output = read(first + second + banner + general(5, 5, 0, "Restricted Hartree-Fock"));
  ASSERT_EQ(output.calculations.size(), 3u);
  EXPECT_EQ(output.calculations[0].reference, Reference::rhf);
  EXPECT_EQ(output.calculations[1].reference, Reference::uhf);
  EXPECT_NE(output.calculations[0].triples, output.calculations[1].triples);
  EXPECT_FALSE(output.calculations[2].triples);
  EXPECT_TRUE(output.calculations[2].tiles.empty());
}

TEST_F(Output, OfSeveralCalculationsUsesTheOneThatFitsTheFiles) {
  const DumpCopy copy("h2o_631g_c2v_rhf_t10");
  const std::string own = read_text(copy.file("out"));
  const std::string other = read_text(nwchem_data() / "ch2_631g_c1_uhf_t3" / "c.out");
  const auto expected = copy.open();
  const auto expect_same = [&](const std::string& text) {
    write_text(copy.file("out"), text);
    const auto source = copy.open();
    EXPECT_EQ(source->tiles(), expected->tiles());
    EXPECT_EQ(source->info().correlation_energy, expected->info().correlation_energy);
    EXPECT_EQ(source->info().printed_triples, expected->info().printed_triples);
  };
  expect_same(other + own);
  expect_same(own + other);
  // An aborted restart.
  expect_same(own + own.substr(0, own.find("CCSD iterations")));
  // The same tiles at another geometry: the list of orbital energies shows the difference.
  std::string elsewhere = own;
  elsewhere[elsewhere.find('5', elsewhere.find("eval="))] = '7';
  elsewhere.replace(elsewhere.find("-0.1353978"), 6, "-0.999");
  expect_same(elsewhere + own);
  expect_same(own + elsewhere);
  // A second run that did not converge has overwritten the amplitudes of the first run.
  write_text(copy.file("out"),
             own + own.substr(0, own.find("Iterations converged")) + " ccsd_energy_loc: maxiter exceeded     4\n");
  expect_refusal([&] { copy.open(); }, {"c.out", "did not converge"});
}

TEST_F(Output, TriplesBelongToTheLastAmplitudes) {
  const std::string ccsd = " CCSD correlation energy / hartree =        -0.5\n";
  const std::string triples =
      " CCSD[T]  correction energy / hartree =  -0.2\n CCSD(T)  correction energy / hartree =  -0.1\n";
  const auto last = [&](const std::string& text) { return read(banner + text).calculations.back(); };
  EXPECT_EQ(last(ccsd + triples).triples, -0.1);
  EXPECT_EQ(last(ccsd + triples).bracket_triples, -0.2);
  EXPECT_FALSE(last(ccsd + triples + ccsd).triples);
}

TEST_F(Output, RowsOfAllWidths) {
  const TileSpace space = tiles(banner + general(12, 12, 0, "Restricted Hartree-Fock") + head +
                                "   1    alpha     a'    11 doubles       0       1\n"
                                " ***    alpha     a\"     1 doubles      11       2\n"
                                " ***    beta      a'    11 doubles      12       1\n"
                                "1004    beta      a\"     1 doubles      23       2\n"
                                "1005    alpha     a'  1200 doubles      24       5\n"
                                "1006    beta      a'  1200 doubles    1224       5\n\n");
  EXPECT_EQ(space.size(), 6);
  EXPECT_EQ(space[1].irrep, 1);
  EXPECT_EQ(space[5].size, 1200);
  EXPECT_EQ(space[5].partner, 4);
}

TEST_F(Output, EmptyClasses) {
  // A hydrogen atom: alpha holes and alpha particles are neighbours.
  const std::string rows =
      "   1    alpha     a      1 doubles       0       1\n   2    alpha     a      4 doubles       1       2\n"
      "   3    beta      a      5 doubles       5       3\n\n";
  const TileSpace space = tiles(banner + general(1, 0, 0, "Unrestricted Hartree-Fock") + head + rows);
  EXPECT_EQ(space.hole_tiles(), 1);
  EXPECT_EQ(space.first(OrbitalClass::particle_beta), 2);
  expect_refusal([&] { tiles(banner + "  Wavefunction type : Unrestricted Hartree-Fock\n" + head + rows); },
                 {"x.out", "General"});
  expect_refusal([&] { tiles(banner + general(2, 0, 0, "Unrestricted Hartree-Fock") + head + rows); },
                 {"x.out", "electrons"});
  expect_refusal([&] { tiles(banner + general(1, 0, 0, "Restricted Hartree-Fock") + head + rows); },
                 {"x.out", "alpha and beta"});
  expect_refusal([&] { tiles(banner + general(1, 0, 0, "") + head + rows); }, {"x.out", "Wavefunction type"});
}

TEST_F(Output, DamagedTables) {
  const std::string start = banner + general(1, 0, 0, "Unrestricted Hartree-Fock") + head;
  for (const std::string row :
       {"   1    alpha     e1     1 doubles       0       1\n", "   1    alpha     a      1 doubles       3       1\n",
        "   1    alpha     a      0 doubles       0       1\n",
        "   1    beta      a      1 doubles       0       1\n"}) {
    expect_refusal([&] { tiles(start + row); }, {"x.out", "--nwchem-output"});
  }
  for (const std::string row :
       {"   1    alpha     a   **** doubles       0       1\n", "   1    gamma     a      1 doubles       0       1\n",
        "   1    alpha     a      1 triples       0       1\n",
        "   1    alpha     a      9999999999999999999999 doubles 0 1\n"}) {
    expect_refusal([&] { tiles(start + row); }, {"x.out", "print low"});
  }
}

TEST_F(Output, AnyBytesAreReadInBoundedMemory) {
  EXPECT_TRUE(read("").calculations.empty());
  EXPECT_TRUE(read(std::string(5'000'000, 'x')).calculations.empty());
  EXPECT_TRUE(read(std::string(100'000, '\0') + "\n" + std::string(100'000, '\xff')).calculations.empty());
  EXPECT_EQ(read(std::string(3'000'000, 'x') + "\r\n" + banner + " CCSD correlation energy / hartree = -0.5\r\n")
                .calculations.size(),
            1u);
}

TEST(LineReader, CutsLongLinesAndJoinsChunks) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "text").string();
  const std::string longest(LineReader::longest_line + 10, 'a');
  // The second line crosses the boundary of a chunk of one MiB.
  write_text(path, std::string((1 << 20) - 3, 'b') + "\nhello\r\n\n" + longest + "\nlast");
  LineReader reader(path);
  std::string_view line;
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line, std::string(LineReader::longest_line, 'b'));
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line, "hello");
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line, "");
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line.size(), LineReader::longest_line);
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line, "last");
  EXPECT_FALSE(reader.next(line));
}

// In each of the eight groups, the number of a product of irreps must be the exclusive or of their numbers.
TEST(Irreps, MultiplyByExclusiveOr) {
  const auto number = [](const char* label, bool d2 = false) { return irrep_number(label, d2).value(); };
  for (const char* label : {"a", "a'", "ag", "a1"}) EXPECT_EQ(number(label), 0);
  EXPECT_EQ(number("a\""), 1);
  EXPECT_EQ(number("b"), 1);
  EXPECT_EQ(number("au"), 1);
  EXPECT_EQ(number("b1") ^ number("b2"), number("a2"));
  EXPECT_EQ(number("b1", true) ^ number("b2", true), number("b3", true));
  EXPECT_EQ(number("bg") ^ number("bu"), number("au"));
  EXPECT_EQ(number("b1g") ^ number("b2g"), number("b3g"));
  for (const auto& [g, odd] : {std::pair("b1g", "b1u"), std::pair("b2g", "b2u"), std::pair("b3g", "b3u")}) {
    EXPECT_EQ(number(g) ^ number("au"), number(odd));
  }
  EXPECT_FALSE(irrep_number("e", false));
  EXPECT_FALSE(irrep_number("t1u", false));
  EXPECT_FALSE(irrep_number("", false));
}

// The list of `print tile` gives irreps by number.
TEST(Irreps, HaveTheNumbersOfNwchemsList) {
  std::size_t compared = 0;
  for (const std::string& dump : good_dumps()) {
    const NwchemOutput output = read_nwchem_output((nwchem_data() / dump / "c.out").string());
    for (const TceCalculation& calculation : output.calculations) {
      if (calculation.sorted.empty()) continue;
      const TileSpace space = tiles_of(calculation, dump);
      for (const Tile& tile : space.tiles()) {
        EXPECT_EQ(tile.irrep, calculation.sorted[static_cast<std::size_t>(tile.offset)].irrep) << dump;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 100u);
}

}
}
