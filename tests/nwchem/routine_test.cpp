#include "fortran_iface/nwchem_routine.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/support/environment_variable.hpp"
#include "tests/support/expected_energies.hpp"
#include "tests/support/nwchem_program.hpp"
#include "tests/support/thread_communicator.hpp"

/// The C interface that the file for NWChem calls. The ranks are threads. The folder standin/ tests whole molecules
/// with Global Arrays.
namespace trifuse::testing {
namespace {

/// One rank of a host program.
struct Host {
  Host(const ThreadCommunicator& of, const NwchemProgram& what) : communicator(of), program(what) {}
  ThreadCommunicator communicator;
  const NwchemProgram& program;
  std::thread::id thread = std::this_thread::get_id();
  bool cannot_read = false;
  std::array<double, 3> factors = {1.0, 1.0, 1.0};  ///< of t1, t2 and v2
  std::string printed;
};

std::int64_t read(void* context, std::int64_t vector, std::int64_t offset, std::int64_t count, double* values) {
  const auto& host = *static_cast<Host*>(context);
  EXPECT_EQ(std::this_thread::get_id(), host.thread);
  if (host.cannot_read && vector == 12) return 5;
  host.program.vector(static_cast<NwchemTensor>(vector - 11))
      .read(offset, std::span(values, static_cast<std::size_t>(count)));
  for (std::int64_t n = 0; n < count; ++n) values[n] *= host.factors[static_cast<std::size_t>(vector - 11)];
  return 0;
}
std::int64_t fetch_add(void* context, std::int64_t counter, std::int64_t amount) {
  auto& host = *static_cast<Host*>(context);
  EXPECT_EQ(std::this_thread::get_id(), host.thread);
  return host.communicator.fetch_add(static_cast<int>(counter), amount);
}
void sum(void* context, std::int64_t count, double* values) {
  auto& host = *static_cast<Host*>(context);
  EXPECT_EQ(std::this_thread::get_id(), host.thread);
  host.communicator.allreduce_sum(std::span(values, static_cast<std::size_t>(count)));
}
void print(void* context, std::int64_t length, const char* line) {
  auto& host = *static_cast<Host*>(context);
  EXPECT_EQ(std::this_thread::get_id(), host.thread);
  host.printed.append(line, static_cast<std::size_t>(length)) += '\n';
}

class Routine : public ::testing::Test {
 protected:
  const EnvironmentVariable device_{"TRIFUSE_NWCHEM_DEVICE", "cpu"};

  struct Answer {
    trifuse_status status{};
    double e_bracket_t = 0.0, e_paren_t = 0.0;
    std::string printed;
  };

  static constexpr const char* dump = "ch2_631g_c2v_rohf_t3_2eorb";
  std::string dump_ = dump;  ///< the files that the ranks have in memory

  /// Returns the results of all ranks. `change` may damage the arguments of a rank.
  template <typename Change>
  std::vector<Answer> answers(int ranks, const std::string& settings, Change change) {
    const NwchemProgram program((nwchem_data() / dump_ / "c").string());
    std::vector<Answer> found(static_cast<std::size_t>(ranks));
    ThreadRanks shared(ranks);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        Host host(ThreadCommunicator(shared, rank), program);
        trifuse_nwchem_job job{};
        job.noa = program.counts[0];
        job.nob = program.counts[1];
        job.nva = program.counts[2];
        job.nvb = program.counts[3];
        job.restricted = program.restricted ? 1 : 0;
        job.spatial_integrals = program.spatial() ? 1 : 0;
        job.spin = program.spin.data();
        job.irrep = program.irrep.data();
        job.size = program.size.data();
        job.spatial_tile = program.spatial_tile.data();
        job.orbital_energies = program.energies.data();
        job.t1 = 11;
        job.t2 = 12;
        job.v2 = 13;
        job.t1_doubles = program.lengths.t1;
        job.t2_doubles = program.lengths.t2;
        job.v2_doubles = program.lengths.v2;
        job.rank = rank;
        job.ranks = ranks;
        job.gpus_per_node = 1;
        job.context = &host;
        job.read = read;
        job.fetch_add = fetch_add;
        job.sum = sum;
        job.print = print;
        change(rank, host, job);
        Answer& answer = found[static_cast<std::size_t>(rank)];
        trifuse_nwchem_triples(&answer.status, &job, settings.c_str(), &answer.e_bracket_t, &answer.e_paren_t);
        answer.printed = host.printed;
      });
    }
    for (std::thread& thread : threads) thread.join();
    return found;
  }
  std::vector<Answer> answers(int ranks, const std::string& settings = "") {
    return answers(ranks, settings, [](int, Host&, trifuse_nwchem_job&) {});
  }
};

TEST_F(Routine, ComputesTheEnergiesOnAllRanks) {
  const ExpectedEnergies expected = expected_energies(dump);
  const auto alone = answers(1).front();
  ASSERT_STREQ(alone.status.message, "");
  EXPECT_NEAR(alone.e_bracket_t, expected.plain.e_bracket_t, 1e-10);
  EXPECT_NEAR(alone.e_paren_t, expected.plain.e_paren_t, 1e-10);
  for (const int ranks : {2, 4}) {
    for (const Answer& answer : answers(ranks)) {
      EXPECT_STREQ(answer.status.message, "");
      EXPECT_EQ(answer.e_bracket_t, alone.e_bracket_t);
      EXPECT_EQ(answer.e_paren_t, alone.e_paren_t);
    }
  }
}

TEST_F(Routine, PrintsOnRank0WhoComputesAndAllOmega2) {
  const ExpectedEnergies expected = expected_energies(dump);
  ASSERT_FALSE(expected.regularised.empty());
  const auto& [omega2, energies] = expected.regularised.back();
  const auto found = answers(2, "omega2=" + std::to_string(omega2) + ",0\n");
  for (const Answer& answer : found) {
    EXPECT_STREQ(answer.status.message, "");
    EXPECT_NEAR(answer.e_paren_t, energies.e_paren_t, 1e-10);
  }
  for (const char* part : {"Trifuse ", "NWChem's arrays (2eorb)", "computes on", "\n        0-1  ", " core", "F/s",
                           "denominator-shifted CCSD(T), omega2 = ", "\nCCSD(T), omega2 = 0: E[T] = "}) {
    EXPECT_NE(found[0].printed.find(part), std::string::npos) << part << " is not in\n" << found[0].printed;
  }
  EXPECT_EQ(found[1].printed, "");
}

// The emulation is slow, so the user must ask for it.
TEST_F(Routine, SaysThatMixedPrecisionIsEmulatedOnCores) {
  const std::string mixed = "precision=mixed\n";
  const ExpectedEnergies expected = expected_energies(dump);
  const Answer answer = answers(1, mixed + "device=cpu\n").front();
  EXPECT_STREQ(answer.status.message, "");
  EXPECT_NEAR(answer.e_paren_t, expected.plain.e_paren_t, 2e-9);
  for (const char* part : {"emulate it, slower than double precision", "Error bar ", " tasks in double precision"}) {
    EXPECT_NE(answer.printed.find(part), std::string::npos) << part << " is not in\n" << answer.printed;
  }
  const EnvironmentVariable automatic("TRIFUSE_NWCHEM_DEVICE", "auto");
  const auto refused = answers(1, mixed, [](int, Host&, trifuse_nwchem_job& job) { job.gpus_per_node = 0; });
  EXPECT_EQ(refused.front().status.code, TRIFUSE_BAD_USAGE);
  EXPECT_NE(std::string(refused.front().status.message).find("Mixed precision is for GPUs"), std::string::npos);
}

void expect_refused(const trifuse_status& status, trifuse_code code, const std::string& part) {
  EXPECT_EQ(status.code, code);
  EXPECT_NE(std::string(status.message).find(part), std::string::npos) << status.message;
}

TEST_F(Routine, FailsOnAllRanksWhereOneCannotRead) {
  const auto found = answers(3, "", [](int rank, Host& host, trifuse_nwchem_job&) { host.cannot_read = rank == 1; });
  expect_refused(found[0].status, TRIFUSE_BAD_INPUT, "Rank 1 failed: NWChem could not deliver");
  expect_refused(found[1].status, TRIFUSE_BAD_INPUT, "of its array 12: code 5.");
  expect_refused(found[2].status, TRIFUSE_BAD_INPUT, "Rank 1 failed: NWChem could not deliver");
}

/// The numbers are checked as the program checks them, by all ranks together.
TEST_F(Routine, RefusesWrongNumbers) {
  dump_ = "h2o_631g_c1_rhf_t5_2eorb";
  const ExpectedEnergies expected = expected_energies(dump_);
  const auto energies_with = [&](std::size_t tensor, double factor, const std::string& settings, int ranks) {
    return answers(ranks, settings, [&](int, Host& host, trifuse_nwchem_job&) { host.factors[tensor] = factor; });
  };
  for (const int ranks : {1, 3}) {
    for (const Answer& answer : energies_with(0, 1.0, "", ranks)) {
      EXPECT_STREQ(answer.status.message, "");
      EXPECT_NEAR(answer.e_paren_t, expected.plain.e_paren_t, 1e-10);
      EXPECT_EQ(answer.printed.find("WARNING"), std::string::npos) << answer.printed;
    }
    for (std::size_t tensor = 0; tensor < 3; ++tensor) {
      for (const double factor : {-1.0, 0.9}) {
        for (const Answer& answer : energies_with(tensor, factor, "", ranks)) {
          expect_refused(answer.status, TRIFUSE_BAD_INPUT, "equation of the single excitations");
        }
      }
    }
  }
  const Answer trusted = energies_with(1, 0.9, "trust_input=true\n", 1).front();
  EXPECT_STREQ(trusted.status.message, "");
  EXPECT_NE(trusted.printed.find("WARNING: A witness failed (singles equation)"), std::string::npos) << trusted.printed;
}

TEST_F(Routine, RefusesWhatCannotBe) {
  for (const Answer& answer : answers(2, "omega2=x\n")) expect_refused(answer.status, TRIFUSE_BAD_USAGE, "omega2 is");
  const auto refused = [&](auto change) {
    return answers(1, "", [&](int, Host&, trifuse_nwchem_job& job) { change(job); }).front().status;
  };
  expect_refused(refused([](auto& job) { job.spatial_tile = nullptr; }), TRIFUSE_BAD_USAGE, "null pointer");
  expect_refused(refused([](auto& job) { job.sum = nullptr; }), TRIFUSE_BAD_USAGE, "null pointer");
  expect_refused(refused([](auto& job) { job.rank = 1; }), TRIFUSE_BAD_USAGE, "no rank 1 of 1");
  expect_refused(refused([](auto& job) { job.v2_doubles -= 1; }), TRIFUSE_BAD_INPUT, "V2 (2eorb) of NWChem has");
  expect_refused(refused([](auto& job) { job.restricted = 1; }), TRIFUSE_BAD_INPUT, "same alpha and beta tiles");
  expect_refused(refused([](auto& job) { job.nob = -5; }), TRIFUSE_BAD_INPUT, "-5 tiles");
}

}
}
