#pragma once

#include <map>
#include <string>

/// Texts with keys in a file that several programs may read and change at the same time. The file holds nothing that
/// cannot be made again, so it may be deleted or damaged at any time.
namespace trifuse {

/// Returns the folder for such files: TRIFUSE_CACHE, or else `trifuse` in XDG_CACHE_HOME or in .cache of HOME. Returns
/// an empty text if there shall be no such files: TRIFUSE_CACHE is empty, or no variable names a folder.
std::string cache_folder();

/// The content of such a file. Keys and texts consist of printable ASCII characters and blanks.
struct StoredTexts {
  std::map<std::string, std::string> texts;
  std::string damage;  ///< a sentence if there is a file, but nothing of it can be used; else empty
};

/// Reads a file. Never throws because of the file; without a file there are no texts.
StoredTexts read_texts(const std::string& path);

/// Changes some texts of a file and keeps the others, also those that other programs store at the same time. Makes the
/// file and its folder if necessary. A new file replaces the old one when it is complete and on the disk. `changes`: an
/// empty text removes its key. Returns what is in the file now, and why the old file could not be used. Throws
/// SystemError if the file cannot be written, and UsageError if it is a symbolic link.
StoredTexts change_texts(const std::string& path, const std::map<std::string, std::string>& changes);

}
