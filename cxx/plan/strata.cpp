#include "cxx/plan/strata.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

namespace trifuse {

double random_number(std::size_t task) {
  // SplitMix64
  std::uint64_t z = (static_cast<std::uint64_t>(task) + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return (static_cast<double>(z >> 12) + 0.5) * 0x1p-52;
}

namespace {

/// The tasks of one spin case, by size class. The sizes of one class differ by a factor of 4 at most. Class 0 has the
/// largest tasks.
using SizeClasses = std::map<int, std::vector<std::size_t>>;

/// Joins classes that have too few tasks for a sample with the next larger class, or with the next smaller one if there
/// is no larger class.
void pool(SizeClasses& classes) {
  // A sample should be a small part of its stratum.
  constexpr std::size_t enough = 8 * (check_sample + least_sample);
  const auto join = [&](SizeClasses::iterator from, SizeClasses::iterator to) {
    to->second.insert(to->second.end(), from->second.begin(), from->second.end());
    classes.erase(from);
  };
  for (auto last = std::prev(classes.end()); last != classes.begin();) {
    const auto larger = std::prev(last);
    if (last->second.size() < enough) join(last, larger);
    last = larger;
  }
  while (classes.size() > 1 && classes.begin()->second.size() < enough) {
    join(classes.begin(), std::next(classes.begin()));
  }
}

}

std::vector<Stratum> make_strata(const Plan& plan) {
  std::map<SpinCase, SizeClasses> cases;
  std::map<SpinCase, double> largest;
  for (std::size_t task = 0; task < plan.tasks.size(); ++task) {
    double& most = largest[plan.tasks[task].spin_case];
    most = std::max(most, plan.operations[task]);
  }
  for (std::size_t task = 0; task < plan.tasks.size(); ++task) {
    const SpinCase spin_case = plan.tasks[task].spin_case;
    // A task without products has its disconnected triples only.
    const double ratio = plan.operations[task] > 0.0 ? largest[spin_case] / plan.operations[task] : 1e300;
    cases[spin_case][static_cast<int>(std::log2(ratio) / 2.0)].push_back(task);
  }
  std::vector<Stratum> strata;
  for (auto& [spin_case, classes] : cases) {
    pool(classes);
    for (auto& [size_class, tasks] : classes) {
      std::sort(tasks.begin(), tasks.end(), [](std::size_t x, std::size_t y) {
        const double first = random_number(x), second = random_number(y);
        return first != second ? first < second : x < y;
      });
      const auto [least, most] = std::minmax_element(tasks.begin(), tasks.end(), [&](std::size_t x, std::size_t y) {
        return plan.operations[x] < plan.operations[y];
      });
      strata.push_back({spin_case, plan.operations[*least], plan.operations[*most], std::move(tasks)});
    }
  }
  return strata;
}

std::size_t first_sample(const Stratum& stratum) {
  constexpr double share = 0.015;
  const auto wanted = static_cast<std::size_t>(std::ceil(share * static_cast<double>(stratum.tasks.size())));
  return std::min(stratum.tasks.size(), std::max(least_sample, wanted));
}

std::vector<std::size_t> expected_sample(const Plan& plan) {
  std::vector<std::size_t> sample;
  for (const Stratum& stratum : make_strata(plan)) {
    const std::size_t checked = std::min(check_sample, stratum.tasks.size());
    std::vector<std::pair<double, std::size_t>> keys;
    for (std::size_t n = 0; n < stratum.tasks.size(); ++n) {
      const std::size_t task = stratum.tasks[n];
      if (n < checked) {
        sample.push_back(task);
      } else {
        keys.emplace_back(random_number(task) / std::max(1.0, plan.operations[task]), task);
      }
    }
    std::sort(keys.begin(), keys.end());
    keys.resize(std::min(keys.size(), first_sample(stratum)));
    for (const auto& [key, task] : keys) sample.push_back(task);
  }
  std::sort(sample.begin(), sample.end());
  return sample;
}

}
