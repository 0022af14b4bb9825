#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cxx/calculation/options.hpp"

/// The options of a calculation as users write them. Every door reads this table: the command line, the C interface
/// (and through it Fortran and Python), NWChem's input, the environment, and the comparison of the ranks.
namespace trifuse {

/// The ways to a calculation: a command of the program, a call of the library, NWChem's (T) in one call, the symbols of
/// NWChem's GPU objects.
enum class Door { program, library, nwchem_routine, nwchem_symbols };

/// The value of an option; no numbers: it was not given.
struct OptionValue {
  std::vector<double> numbers;  ///< of a word its place among the words, of a flag 0 or 1, of a text its length
  std::string text = {};        ///< only of a text
};

/// What the values of an option may be.
struct PossibleValues {
  const char* rule = "";  ///< what a value must be, e.g. "an amount of memory"; empty for words and flags
  double least = 0.0;     ///< limits of numbers, and of the length of a text; both are possible
  double most = std::numeric_limits<double>::infinity();
  std::size_t most_values = 1;              ///< above 1: a list
  std::span<const char* const> words = {};  ///< of a word; the first is the default
  std::string_view older_word = {};         ///< an older name of the first word, which is still understood
};

struct CalculationOption {
  enum class Kind : std::uint8_t { word, integer, real, bytes, text, flag };

  /// Sums of these are `uses`: who takes the option besides the library. Without `each_rank` all ranks of a job must
  /// have the same value.
  static constexpr unsigned program = 1, nwchem_routine = 2, nwchem_symbols = 4, each_rank = 8;

  const char* name;  ///< e.g. "tile_size"
  Kind kind;
  const char* sentence;  ///< what it is, for --help
  PossibleValues values;
  unsigned uses;
  OptionValue (*get)(const CalculationOptions&);
  void (*set)(CalculationOptions&, const OptionValue&);

  /// Its name at a door: --tile-size, tile_size or trifuse:tile_size.
  std::string name_at(Door door) const;
  /// Returns the variable of the environment that NWChem's routine reads, e.g. TRIFUSE_TILE_SIZE.
  std::string variable() const;
  bool same_on_ranks() const { return (uses & each_rank) == 0; }
  /// Returns true if this door takes it.
  bool is_at(Door door) const;
  /// Returns what a value must be, e.g. "a number of orbitals, 1 to 1048576".
  std::string possible_values() const;
  /// Its value in `options` as text; empty if it was not given.
  std::string text_in(const CalculationOptions& options) const;
  /// Sets it from a text: words and texts as they are, lists with commas, flags as true or false. Throws UsageError if
  /// the text is not a possible value. `origin`: the name of the option for the sentence.
  void set_text(CalculationOptions& options, const std::string& value, const std::string& origin) const;
};

/// Returns the options of a user who gives none: the job chooses the device.
CalculationOptions default_options();
/// Returns all options, in the order in which a door must set them: a later one may change what an earlier one has set.
std::span<const CalculationOption> option_table();
/// Returns the option with this name at a door, see CalculationOption::name_at(); null: there is none.
const CalculationOption* find_option(Door door, std::string_view name);
/// Returns what a user may have meant by a name that is no option of this door: "the nearest name is tile_size.", or
/// all names. `name`: without the beginning that all names at this door have.
std::string other_names(Door door, const std::string& name);
/// Returns the names of the options that may differ between ranks, for a sentence.
std::string names_of_each_rank(Door door);
/// Returns a sentence in which options have their names at a door: --tile-size becomes tile_size or trifuse:tile_size.
/// All rooms write sentences in the words of the command line.
std::string in_words_of(Door door, std::string sentence);

}
