#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace trifuse {

/// True if both paths lead to one file, also through links, hard links and other spellings. Paths at which there is no
/// file yet are the same if they have the same name in the same directory.
bool lead_to_same_file(const std::string& first, const std::string& second);

/// Removes the temporary files of all outputs of this process. For handlers of signals that end it: safe there, and the
/// outputs must not be used afterwards.
void remove_unfinished_outputs() noexcept;

/// What may happen to a file that stands where an output is to be written.
struct OutputRules {
  std::string cure;        ///< ends a sentence, e.g. "give another --json file"
  std::string kept;        ///< says why an existing file is kept, and what the user can do
  bool overwrite = false;  ///< the user allows that an existing file is replaced
  /// True for an earlier output of the same kind, which is replaced without asking; may be empty.
  std::function<bool(const std::string& path)> is_earlier = {};
  /// Throws UsageError for a file that must stay whatever the user allows, as an input; may be empty.
  std::function<void(const std::string& path)> refuse = {};
};

/// A file that appears under its name only when it is complete and on the disk.
///
/// Until then it has another name in the same directory, one that was free; links are never followed. A failure removes
/// it, and so does a handler of signals that calls `remove_unfinished_outputs`. The rules are applied twice: at the
/// beginning, so that a long run does not end at a file that cannot be written, and at the end, so that a file that has
/// appeared meanwhile is not lost.
class OutputFile {
 public:
  /// Throws UsageError if the rules keep an existing file, or if `path` is a symbolic link. Throws SystemError if a
  /// file cannot be written there. Leaves nothing there.
  OutputFile(std::string path, OutputRules rules);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::string& path() const { return path_; }
  /// Creates the file under its temporary name, for reading and writing. The descriptor stays this object's.
  int open();
  /// Appends to the file. Throws SystemError.
  void write(std::string_view content);
  /// Flushes the file to the disk and gives it its name. Throws SystemError.
  void finish();

 private:
  bool may_replace() const;
  void create();
  void discard() noexcept;
  void forget_temporary() noexcept;
  void take_free_name();
  [[noreturn]] void fail(int error) const;

  std::string path_;
  OutputRules rules_;
  bool existed_ = false;
  std::string temporary_;  ///< empty while there is no such file
  int noted_ = -1;         ///< where handlers of signals find its name
  int descriptor_ = -1;
};

}  // namespace trifuse
