#pragma once

#include <omp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>

#include "cxx/base/error.hpp"
#include "tce_tiles/checks/source_check.hpp"
#include "tce_tiles/sources/open_source.hpp"
#include "tests/support/calculations.hpp"

/// Attempts to compute with damaged files. They run in other processes, so that a crash or an endless loop is only one
/// of the possible results.
namespace trifuse::testing {

inline std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// The result of an attempt. The values are exit codes of its process; sanitizers do not use these codes.
enum Ending : int { computed = 70, refused, not_finite, no_memory, no_sentence, strange_error, killed };

struct Trial {
  Ending ending = killed;
  int status = 0;  ///< of the process if it was killed
  bool sealed = false;
  std::array<double, 2> energy{};  ///< [T] and (T)
  std::array<char, 400> text{};    ///< the sentence

  std::string message() const { return text.data(); }
};

inline std::string describe(const Trial& trial) {
  switch (trial.ending) {
    case computed:
    case refused:
      return "";
    case not_finite:
      return "its energy is not finite";
    case no_memory:
      return "it asked for too much memory";
    case no_sentence:
      return "its error is not one sentence: " + trial.message();
    case strange_error:
      return "its error is of another kind: " + trial.message();
    case killed:
      if (!WIFSIGNALED(trial.status)) return "a sanitizer complained, or something ended the process";
      if (WTERMSIG(trial.status) == SIGALRM) return "it took more than 20 s";
      return "it was ended by signal " + std::to_string(WTERMSIG(trial.status));
  }
  return "?";
}

inline Trial try_dump(const std::string& path) {
  Trial trial;
  const auto say = [&](const std::string& text) {
    std::snprintf(trial.text.data(), trial.text.size(), "%s", text.c_str());
  };
  try {
    NwchemLocation location;
    location.prefix = path;
    const auto source = open_source(location);
    trial.sealed = source->info().sealed;
    verify_source(*source, *source);
    CalculationOptions options = options_for();
    options.omega2 = {0.0, 0.1};
    const CalculationResult result = calculate(*source, options);
    const auto numbers = numbers_of(result);
    const bool finite = std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); });
    trial.energy = {numbers.at(0), numbers.at(1)};
    trial.ending = finite ? computed : not_finite;
  } catch (const Error& error) {
    const std::string message = error.what();
    say(message);
    trial.ending = message.empty() || message.find('\n') != std::string::npos ? no_sentence : refused;
  } catch (const std::bad_alloc&) {
    trial.ending = no_memory;
  } catch (const std::exception& error) {
    say(error.what());
    trial.ending = strange_error;
  }
  return trial;
}

/// Runs `attempt(0)`, `attempt(1)`, ... in other processes, one for many attempts, and calls `report` with each result.
/// An attempt may not take more than 20 s or 4 GiB.
inline void run_trials(std::size_t attempts, const std::function<Trial(std::size_t)>& attempt,
                       const std::function<void(std::size_t, const Trial&)>& report) {
  constexpr std::size_t batch = 64;
  struct Shared {
    std::size_t done;
    std::array<Trial, batch> trials;
  };
  void* const memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no shared memory");
  auto* const shared = new (memory) Shared;
  for (std::size_t first = 0; first < attempts;) {
    const std::size_t count = std::min(batch, attempts - first);
    shared->done = 0;
    const pid_t child = ::fork();
    if (child == 0) {
#if !defined(__SANITIZE_ADDRESS__)
      constexpr rlim_t bytes = rlim_t{4} << 30;
      const rlimit limit{bytes, bytes};
      ::setrlimit(RLIMIT_AS, &limit);
#endif
      omp_set_num_threads(1);
      for (std::size_t n = 0; n < count; ++n) {
        ::alarm(20);
        shared->trials[n] = attempt(first + n);
        ::alarm(0);
        shared->done = n + 1;
      }
      ::_exit(0);
    }
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child) throw std::runtime_error("no process could be made");
    for (std::size_t n = 0; n < shared->done; ++n) report(first + n, shared->trials[n]);
    first += shared->done;
    if (shared->done == count) continue;
    Trial trial;
    trial.status = status;
    report(first++, trial);
  }
  ::munmap(memory, sizeof(Shared));
}

}
