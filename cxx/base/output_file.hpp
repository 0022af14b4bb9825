#pragma once

#include <functional>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)

namespace trifuse {

/// Returns true if both paths lead to the same file, also through symbolic links, hard links and other spellings. If
/// neither file exists, returns true if the paths have the same name in the same directory.
bool lead_to_same_file(const std::string& first, const std::string& second);

/// Removes the temporary files of all outputs of this process. A handler of a signal that ends the process may call it.
/// The outputs must not be used afterwards.
void remove_unfinished_outputs() noexcept;

/// Rules for a file that already exists under the name of an output.
struct OutputRules {
  std::string cure;        ///< last part of an error message: advice, e.g. "give another --json file"
  std::string kept;        ///< part of an error message: why the existing file is kept, and advice
  bool overwrite = false;  ///< true if the user allows Trifuse to replace an existing file
  /// Returns true if a file is an earlier output of the same kind, which is always replaced. May be empty.
  std::function<bool(const std::string& path)> is_earlier = {};
  /// Throws UsageError for a file that must never be replaced, e.g. an input. May be empty.
  std::function<void(const std::string& path)> refuse = {};
};

/// A file that appears under its name only when it is complete and on the disk.
///
/// Until then the file has a temporary name in the same directory. The destructor removes an unfinished file. A signal
/// handler that calls `remove_unfinished_outputs` removes it, too. Symbolic links are never followed. The rules are
/// applied twice. At construction they prevent that a long run ends at a file that cannot be written. In `finish` they
/// protect a file that another program has created meanwhile.
class OutputFile {
 public:
  /// Checks that `path` can be written. Creates no file. Throws UsageError if the rules keep an existing file, or if
  /// `path` contains a null character or is a symbolic link. Throws SystemError if no file can be written there.
  OutputFile(std::string path, OutputRules rules);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Creates the file under its temporary name and returns a descriptor for reading and writing. This object closes
  /// the descriptor. Throws SystemError.
  int open();
  /// Appends `content` to the file and creates the file if necessary. Throws SystemError.
  void write(std::string_view content);
  /// Flushes the file to the disk and gives it its final name. Call it once, after `open` or `write`. Throws
  /// SystemError if that fails or if the rules now keep a file of that name.
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
  std::string temporary_;  ///< name of the unfinished file; empty if there is none
  int noted_ = -1;         ///< position of its name in the list for signal handlers; -1 if it is not in the list
  int descriptor_ = -1;
};

}

#pragma GCC visibility pop
