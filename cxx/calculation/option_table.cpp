#include "cxx/calculation/option_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <climits>
#include <cmath>
#include <system_error>
#include <type_traits>

#include "cxx/base/byte_amount.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/nearest_name.hpp"
#include "cxx/base/threads.hpp"

namespace trifuse {

namespace {

using Kind = CalculationOption::Kind;

template <typename Member>
OptionValue read(const Member& member) {
  if constexpr (requires { member.c_str(); }) {
    return member.empty() ? OptionValue{} : OptionValue{{static_cast<double>(member.size())}, member};
  } else if constexpr (requires { member.begin(); }) {
    OptionValue value;
    for (const auto& each : member) value.numbers.push_back(static_cast<double>(each));
    return value;
  } else if constexpr (requires { member.has_value(); }) {
    return member ? OptionValue{{static_cast<double>(*member)}} : OptionValue{};
  } else {
    const bool absent = std::is_same_v<Member, int> && member == Member{};
    return absent ? OptionValue{} : OptionValue{{static_cast<double>(member)}};
  }
}

template <typename Member>
void store(Member& member, const OptionValue& value) {
  if constexpr (requires { member.c_str(); }) {
    member = value.text;
  } else if constexpr (requires { member.begin(); }) {
    member.clear();
    for (const double number : value.numbers) member.push_back(static_cast<typename Member::value_type>(number));
  } else if constexpr (requires { member.has_value(); }) {
    member = static_cast<typename Member::value_type>(value.numbers.front());
  } else {
    member = static_cast<Member>(value.numbers.front());
  }
}

template <auto member>
OptionValue get(const CalculationOptions& options) {
  return read(options.*member);
}

constexpr CalculationOption row(const char* name, Kind kind, const char* sentence, const PossibleValues& values,
                                unsigned uses, decltype(CalculationOption::get) getter,
                                decltype(CalculationOption::set) setter) {
  return {name, kind, sentence, values, uses, getter, setter};
}
/// Returns the same for an option that is one member of the options.
template <auto member>
constexpr CalculationOption row(const char* name, Kind kind, const char* sentence, const PossibleValues& values,
                                unsigned uses) {
  const auto set = [](CalculationOptions& options, const OptionValue& value) { store(options.*member, value); };
  return {name, kind, sentence, values, uses, get<member>, set};
}

/// The form: "auto", then the values of SpinFormulation.
constexpr std::array forms = {"auto", "spin-orbital", "spin-adapted"};
OptionValue get_form(const CalculationOptions& options) {
  return {{options.formulation ? 1.0 + static_cast<int>(*options.formulation) : 0.0}};
}
void set_form(CalculationOptions& options, const OptionValue& value) {
  options.formulation.reset();
  if (value.numbers.front() > 0.0) options.formulation = static_cast<SpinFormulation>(value.numbers.front() - 1.0);
}

/// In the order of TriplesMethod.
constexpr std::array method_names = {"t", "ct", "cr-t", "2t", "cr-cc23", "reg-t", "reg-gf-t"};

constexpr std::array rohf_orbitals = {"given", "semicanonical"};

void set_precision(CalculationOptions& options, const OptionValue& value) {
  store(options.precision, value);
  if (options.precision == Precision::fp64) options.target_error.reset();
}

/// In the order of Derivatives.
constexpr std::array derivative_words = {"none", "t", "all"};

constexpr std::array devices = {"auto", "cpu", "cuda"};
OptionValue get_device(const CalculationOptions& options) {
  return {{options.choose_executor ? 0.0 : options.executor == ExecutorKind::cuda ? 2.0 : 1.0}};
}
void set_device(CalculationOptions& options, const OptionValue& value) {
  options.choose_executor = value.numbers.front() == 0.0;
  options.devices_required = value.numbers.front() == 2.0;
  options.executor = options.devices_required ? ExecutorKind::cuda : ExecutorKind::cpu;
  // GPUs that were named before stay the ones to use.
  if (options.executor == ExecutorKind::cpu && !options.choose_executor) options.devices.clear();
}

/// Named GPUs imply that GPUs compute.
void set_devices(CalculationOptions& options, const OptionValue& value) {
  set_device(options, {{2.0}});
  store(options.devices, value);
}

using O = CalculationOptions;
constexpr double positive = std::numeric_limits<double>::denorm_min();
constexpr unsigned program = CalculationOption::program, routine = program | CalculationOption::nwchem_routine;
constexpr unsigned symbols = routine | CalculationOption::nwchem_symbols, each_rank = CalculationOption::each_rank;

constexpr std::array table = {
    row<&O::methods>(
        "method", Kind::word,
        "Triples methods, one or a list of some that share a side, for example ct,cr-t,cr-cc23; default: t",
        {.most_values = method_names.size(), .words = method_names}, program),
    row<&O::omega2>("omega2", Kind::real,
                    "Values of omega2 in hartree, for example 0,0.1,0.2; default: that of --left, else 0",
                    {"values in hartree", 0.0, largest_omega2, 10000}, routine),
    row("form", Kind::word, "Spin formulation of the energy", {.words = forms}, routine, get_form, set_form),
    row<&O::rohf>("rohf", Kind::word,
                  "(T) of an ROHF reference: of the given orbitals, as in NWChem and PySCF, or the standard one",
                  {.words = rohf_orbitals, .older_word = "nwchem"}, program),
    row("precision", Kind::word, "double, or mixed: GPUs compute faster and give an error bar (CPU: slow test)",
        {.words = precision_names}, routine, get<&O::precision>, set_precision),
    row<&O::target_error>(
        "target_error", Kind::real,
        "Error bar in hartree that --precision mixed must reach; default: 7e-9 of the energy, at least 3e-10",
        {"an error bar in hartree", positive, 1.0}, routine),
    row<&O::tile_size>("tile_size", Kind::integer, "Largest tile in orbitals; default: chosen for the device",
                       {"a number of orbitals", 1, largest_tile_size}, routine),
    row<&O::threads>("threads", Kind::integer, "Threads of each process; default: all cores that it may use",
                     {"a number of threads", 1, max_threads}, program | each_rank),
    row<&O::memory>("memory", Kind::bytes,
                    "Memory of each GPU; on CPU cores of each process, if it is one only its scratch; for example 8GiB",
                    {"an amount of memory up to 1 PiB, for example 512MiB or 20GiB", 1, std::int64_t{1} << 50},
                    symbols | each_rank),
    row("device", Kind::word, "Where to compute; auto: on GPUs if there are any and the work is large enough",
        {.words = devices}, symbols | each_rank, get_device, set_device),
    row("devices", Kind::integer, "GPUs to use, for example 0,1; default: all; implies --device cuda",
        {"numbers of GPUs", 0, 4095, 4096}, program | each_rank, get<&O::devices>, set_devices),
    row<&O::kernel>("kernel", Kind::text, "Kernel configuration for --device cuda; default: the best for the GPU",
                    {"a name", 1, 100}, program | each_rank),
    row<&O::journal>("journal", Kind::text, "Checkpoint file: run the same command again to resume",
                     {"a path", 1, PATH_MAX - 1}, program),
    row<&O::derivatives>("derivatives", Kind::word,
                         "Derivatives of E(T): by the amplitudes and small arrays, or also by ovvv and ovoo",
                         {.words = derivative_words}, 0),
    row<&O::trust_input>("trust_input", Kind::flag, "Continue after a failed witness; the report says so", {}, routine),
    row<&O::check>("check", Kind::flag, "Check the numbers of the input", {}, 0)};

/// Converts a text to a number. Returns NaN if it is none.
template <typename Number>
double number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  text.remove_prefix(text.starts_with('+') && text.size() > 1 && text[1] != '-' ? 1 : 0);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole ? static_cast<double>(value) : std::nan("");
}

/// Converts one value of an option to a number, see OptionValue. Returns NaN if it is none.
double number_of(const CalculationOption& option, const std::string& text) {
  switch (option.kind) {
    case Kind::integer:
      return number<std::int64_t>(text);
    case Kind::real:
      return number<double>(text);
    case Kind::bytes:
      if (const auto bytes = parse_bytes(text)) return static_cast<double>(*bytes);
      break;
    case Kind::text:
      return static_cast<double>(text.size());
    case Kind::flag:
      if (text == "true" || text == "false") return text == "true" ? 1.0 : 0.0;
      break;
    case Kind::word:
      if (!text.empty() && text == option.values.older_word) return 0.0;
      const auto word = std::find(option.values.words.begin(), option.values.words.end(), text);
      if (word != option.values.words.end()) return static_cast<double>(word - option.values.words.begin());
      break;
  }
  return std::nan("");
}

std::string shown(const CalculationOption& option, double number) {
  if (option.kind == Kind::word) return option.values.words[static_cast<std::size_t>(number)];
  if (option.kind == Kind::flag) return number != 0.0 ? "true" : "false";
  return fmt::format("{}", number);
}

/// Returns false for NaN.
bool is_possible(const CalculationOption& option, double number) {
  return number >= option.values.least && number <= option.values.most;
}

[[noreturn]] void refuse(const CalculationOption& option, const std::string& text, const std::string& origin) {
  constexpr std::size_t longest = 60;
  const std::string value = text.size() > longest ? text.substr(0, longest) + "..." : text;
  throw UsageError(fmt::format("{} is \"{}\"; it must be {}.", origin, value, option.possible_values()));
}

/// Refuses a small amount of memory without a unit: a user who writes 4 means GiB, one who writes 2000 means MiB.
void expect_unit(const std::string& text, double bytes, const std::string& origin) {
  constexpr double unlikely = 1e5, gibibytes = 1e3;
  if (bytes < 1.0 || bytes >= unlikely || std::isdigit(static_cast<unsigned char>(text.back())) == 0) return;
  throw UsageError(fmt::format("{0} is \"{1}\", which means {1} bytes; write a unit, for example {1}{2}.", origin, text,
                               bytes < gibibytes ? "GiB" : "MiB"));
}

void expect_few(const CalculationOption& option, std::size_t count, const std::string& origin) {
  if (count <= option.values.most_values) return;
  throw UsageError(fmt::format("{} has {} values; at most {} are possible.", origin, count, option.values.most_values));
}

/// Returns what a user of a door writes for a flag of the command line; other words as they are.
std::string flag_at(Door door, const std::string& flag) {
  if (door == Door::library) {
    if (const CalculationOption* option = find_option(Door::program, flag)) return option->name_at(door);
    // Options of the program about the input. Python has the same words.
    constexpr std::string_view of_inputs[] = {
        "--left",        "--nwchem-output",  "--nwchem-movecs", "--nwchem-tile-size",
        "--frozen-core", "--frozen-virtual", "--overwrite"};
    if (std::find(std::begin(of_inputs), std::end(of_inputs), flag) == std::end(of_inputs)) return flag;
    std::string name = flag.substr(2);
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
  }
  if (flag == "--threads") return "OMP_NUM_THREADS";
  const CalculationOption* option = find_option(Door::program, flag == "--devices" ? "--device" : flag);
  return option != nullptr && option->is_at(door) ? option->name_at(door) : flag;
}

}

CalculationOptions default_options() {
  CalculationOptions options;
  options.choose_executor = true;
  return options;
}

std::span<const CalculationOption> option_table() {
  return table;
}

const CalculationOption* find_option(Door door, std::string_view name) {
  const auto is_it = [&](const CalculationOption& one) { return one.is_at(door) && one.name_at(door) == name; };
  const auto found = std::find_if(table.begin(), table.end(), is_it);
  return found != table.end() ? &*found : nullptr;
}

std::string other_names(Door door, const std::string& name) {
  std::vector<std::string> all, ends;
  for (const CalculationOption& option : table) {
    if (!option.is_at(door)) continue;
    if (name == option.name) return fmt::format("the nearest name is {}.", option.name_at(door));
    all.push_back(option.name_at(door));
    ends.push_back(option.name_at(Door::library));
  }
  const std::string nearest = nearest_name(name, ends);
  if (nearest.empty()) return fmt::format("the names are {}.", fmt::join(all, ", "));
  return fmt::format("the nearest name is {}.", find_option(Door::library, nearest)->name_at(door));
}

std::string names_of_each_rank(Door door) {
  std::vector<std::string> names;
  for (const CalculationOption& option : table) {
    if (!option.same_on_ranks() && option.is_at(door)) names.push_back(option.name_at(door));
  }
  const std::string last = names.back();
  names.pop_back();
  return fmt::format("{} and {}", fmt::join(names, ", "), last);
}

std::string in_words_of(Door door, std::string sentence) {
  if (door == Door::program) return sentence;
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789-", of_the_program = "trifuse ";
  constexpr std::string_view before_words = " (", behind_words = " ,;:).";
  std::size_t at = 0;
  while ((at = sentence.find("--", at)) != std::string::npos) {
    const std::size_t end = std::min(sentence.find_first_not_of(letters, at), sentence.size());
    const std::string_view before = std::string_view(sentence).substr(0, at);
    const bool is_word = (before.empty() || before_words.find(before.back()) != std::string_view::npos) &&
                         (end == sentence.size() || behind_words.find(sentence[end]) != std::string_view::npos);
    std::string name = sentence.substr(at, end - at);
    if (is_word && !before.ends_with(of_the_program)) name = flag_at(door, name);
    sentence.replace(at, end - at, name);
    at += name.size();
  }
  return sentence;
}

std::string CalculationOption::name_at(Door door) const {
  if (door == Door::library) return name == std::string_view("devices") ? "gpus" : name;
  if (door != Door::program) return fmt::format("trifuse:{}", name);
  std::string flag = fmt::format("--{}", name);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

std::string CalculationOption::variable() const {
  std::string variable = name == std::string_view("device") ? "TRIFUSE_NWCHEM_" : "TRIFUSE_";
  for (const char letter : std::string_view(name))
    variable += static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return variable;
}

bool CalculationOption::is_at(Door door) const {
  const unsigned needed = door == Door::program          ? program
                          : door == Door::nwchem_routine ? nwchem_routine
                          : door == Door::nwchem_symbols ? nwchem_symbols
                                                         : 0;
  return (uses & needed) == needed;
}

std::string CalculationOption::possible_values() const {
  const auto& [rule, least, most, most_values, words, older_word] = values;
  switch (kind) {
    case Kind::flag:
      return "true or false";
    case Kind::word:
      return fmt::format("{} or {}", fmt::join(words.first(words.size() - 1), ", "), words.back());
    case Kind::bytes:
      return rule;
    case Kind::text:
      return fmt::format("{} of {} to {} characters", rule, least, most);
    case Kind::integer:
    case Kind::real:
      break;
  }
  const std::string limits =
      least == positive ? fmt::format("more than 0 and at most {}", most) : fmt::format("{} to {}", least, most);
  return fmt::format("{}, {}{}", rule, limits, most_values > 1 ? ", with commas between them" : "");
}

std::string CalculationOption::text_in(const CalculationOptions& options) const {
  const OptionValue value = get(options);
  if (kind == Kind::text) return value.text;
  std::string text;
  for (const double each : value.numbers) text += (text.empty() ? "" : ",") + shown(*this, each);
  return text;
}

void CalculationOption::set_text(CalculationOptions& options, const std::string& value,
                                 const std::string& origin) const {
  OptionValue parsed;
  if (kind == Kind::text) parsed.text = value;
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = values.most_values > 1 ? std::min(value.find(',', begin), value.size()) : value.size();
    const std::string one = value.substr(begin, end - begin);
    parsed.numbers.push_back(number_of(*this, one));
    if (!is_possible(*this, parsed.numbers.back())) refuse(*this, one, origin);
    if (kind == Kind::bytes) expect_unit(one, parsed.numbers.back(), origin);
    begin = end + 1;
  }
  expect_few(*this, parsed.numbers.size(), origin);
  set(options, parsed);
}

void check_options(const CalculationOptions& options) {
  for (const CalculationOption& option : table) {
    const OptionValue value = option.get(options);
    expect_few(option, value.numbers.size(), option.name_at(Door::library));
    for (const double number : value.numbers) {
      if (is_possible(option, number)) continue;
      refuse(option, option.kind == Kind::text ? value.text : shown(option, number), option.name_at(Door::library));
    }
  }
  if (options.precision == Precision::mixed && options.executor == ExecutorKind::reference) {
    throw UsageError("The reference executor computes in double precision only; leave out mixed precision.");
  }
  if (options.target_error && options.precision != Precision::mixed) {
    throw UsageError("A target error is for mixed precision; give --precision mixed, or leave it out.");
  }
}

}
