#include "cxx/base/stored_texts.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "cxx/base/error.hpp"
#include "tests/support/environment_variable.hpp"
#include "tests/support/refusals.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/unprivileged.hpp"

namespace trifuse::testing {
namespace {

using Texts = std::map<std::string, std::string>;

/// A file of texts in a folder that does not exist yet.
class StoredTextsFile : public ::testing::Test {
 protected:
  std::string folder() const { return folder_.path() / "new" / "cache"; }
  std::string path() const { return folder() + "/texts.txt"; }
  std::string content() const {
    std::ifstream file(path());
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& bytes) const { std::ofstream(path()) << bytes; }
  /// Expects that a file cannot be used, and that the next change replaces it.
  void expect_damage(const std::string& why) const {
    const StoredTexts found = read_texts(path());
    EXPECT_EQ(found.damage, path() + " cannot be used: " + why + ".");
    EXPECT_TRUE(found.texts.empty());
    const StoredTexts changed = change_texts(path(), {{"new", "text"}});
    EXPECT_EQ(changed.damage, found.damage);
    EXPECT_EQ(read_texts(path()).texts, (Texts{{"new", "text"}}));
    EXPECT_EQ(read_texts(path()).damage, "");
  }

  TemporaryFolder folder_;
};

TEST_F(StoredTextsFile, KeepsTextsThatDoNotChange) {
  EXPECT_TRUE(read_texts(path()).texts.empty());
  EXPECT_EQ(read_texts(path()).damage, "");
  EXPECT_EQ(change_texts(path(), {}).texts, Texts());
  EXPECT_EQ(read_texts(path()).damage, "");
  change_texts(path(), {{"one", "1"}, {"two", "a b, c:2"}});
  const StoredTexts changed = change_texts(path(), {{"one", ""}, {"three", "3"}, {"absent", ""}});
  const Texts expected = {{"three", "3"}, {"two", "a b, c:2"}};
  EXPECT_EQ(changed.texts, expected);
  EXPECT_EQ(read_texts(path()).texts, expected);
  for (const auto& entry : std::filesystem::directory_iterator(folder()))
    EXPECT_TRUE(entry.path() == path() || entry.path() == path() + ".lock") << entry.path();
}

TEST_F(StoredTextsFile, LosesNoTextOfSeveralWriters) {
  constexpr int processes = 3, threads = 2, texts = 15;
  std::vector<pid_t> children;
  for (int p = 0; p < processes; ++p) {
    children.push_back(::fork());
    ASSERT_GE(children.back(), 0);
    if (children.back() > 0) continue;
    std::vector<std::thread> writers;
    for (int t = 0; t < threads; ++t) {
      writers.emplace_back([&, t] {
        for (int n = 0; n < texts; ++n) {
          const std::string key = std::to_string(p) + " " + std::to_string(t) + " " + std::to_string(n);
          if (!change_texts(path(), {{key, "text of " + key}}).damage.empty()) ::_exit(1);
        }
      });
    }
    for (std::thread& writer : writers) writer.join();
    ::_exit(0);
  }
  // A reader sees a whole file at any time.
  std::size_t size = 0;
  for (const pid_t child : children) {
    int status = 0;
    while (::waitpid(child, &status, WNOHANG) == 0) {
      const StoredTexts found = read_texts(path());
      EXPECT_EQ(found.damage, "");
      EXPECT_GE(found.texts.size(), size);
      size = found.texts.size();
    }
    EXPECT_EQ(status, 0);
  }
  const StoredTexts found = read_texts(path());
  EXPECT_EQ(found.texts.size(), processes * threads * texts);
  for (const auto& [key, text] : found.texts) EXPECT_EQ(text, "text of " + key);
}

TEST_F(StoredTextsFile, NoticesDamageOfEveryKind) {
  const Texts some = {{"one", "1"}, {"two", "22"}, {"three", "333"}};
  change_texts(path(), some);
  const std::string whole = content();
  for (std::size_t size = 1; size < whole.size(); ++size) {
    write(whole.substr(0, size));
    EXPECT_NE(read_texts(path()).damage, "") << size;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char other : {'\0', '\n', '\t', '\x80', 'x'}) {
      std::string bytes = whole;
      bytes[at] = other;
      write(bytes);
      const StoredTexts found = read_texts(path());  // may be another text, but is none without a key
      EXPECT_TRUE(found.texts.empty() || found.texts.size() == some.size()) << at;
      EXPECT_TRUE(found.texts.empty() || found.damage.empty());
    }
  }
  const std::size_t last_line = whole.rfind("end of");
  for (const std::string& bytes :
       {whole + "x", whole + whole, std::string("\0\0\0\0", 4), std::string("{\"one\": 1}\n"),
        whole.substr(0, last_line) + "one\t2\nend of 4 texts\n", whole.substr(0, last_line) + "\t2\nend of 4 texts\n",
        whole.substr(0, last_line) + "four\t\nend of 4 texts\n"}) {
    write(bytes);
    expect_damage("it is damaged");
  }
  write("");
  expect_damage("it is empty");
  std::filesystem::resize_file(path(), 1 << 25);
  expect_damage("it is too large");
}

TEST_F(StoredTextsFile, MayBeSomethingElseOrForbidden) {
  std::filesystem::create_directories(path());
  EXPECT_EQ(read_texts(path()).damage, path() + " cannot be used: it is not a regular file.");
  expect_failure<SystemError>([&] { change_texts(path(), {}); }, "name another folder in TRIFUSE_CACHE");
  std::filesystem::remove(path());
  ASSERT_EQ(::mkfifo(path().c_str(), 0666), 0);
  EXPECT_EQ(read_texts(path()).damage, path() + " cannot be used: it is not a regular file.");
  std::filesystem::remove(path());
  std::filesystem::remove(path() + ".lock");  // of root
  write("secret");
  std::filesystem::permissions(path(), std::filesystem::perms(0));
  std::filesystem::permissions(folder(), std::filesystem::perms(0777));
  {
    const Unprivileged user;
    expect_damage("Permission denied");
  }
  std::filesystem::remove_all(folder());
  std::filesystem::permissions(folder_.path() / "new", std::filesystem::perms(0555));
  {
    const Unprivileged user;
    expect_failure<SystemError>([&] { change_texts(path(), {}); },
                                folder() + " cannot be made: Permission denied; name another folder in TRIFUSE_CACHE.");
    EXPECT_EQ(read_texts(path()).damage, "");
  }
  std::filesystem::permissions(folder_.path() / "new", std::filesystem::perms(0777));
  std::ofstream(folder()) << "a file in the place of the folder";
  expect_failure<SystemError>([&] { change_texts(path(), {}); }, folder() + " cannot be made: ");
  EXPECT_EQ(read_texts(path()).damage, "");
}

TEST_F(StoredTextsFile, IsReadInMilliseconds) {
  Texts texts;
  for (int n = 0; n < 1000; ++n) texts[std::string(150, 'x') + std::to_string(n)] = std::string(60, 'y');
  change_texts(path(), texts);
  const std::clock_t begin = std::clock();  // of this process: another program does not count
  EXPECT_EQ(read_texts(path()).texts, texts);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  RecordProperty("microseconds", static_cast<int>(seconds * 1e6));
  EXPECT_LT(seconds, 0.1);  // 10 ms, and sanitizers
}

TEST(CacheFolder, FollowsTheEnvironment) {
  const EnvironmentVariable home("HOME", "/home/somebody");
  const EnvironmentVariable none("TRIFUSE_CACHE", nullptr), no_xdg("XDG_CACHE_HOME", nullptr);
  EXPECT_EQ(cache_folder(), "/home/somebody/.cache/trifuse");
  {
    const EnvironmentVariable xdg("XDG_CACHE_HOME", "/var/cache");
    EXPECT_EQ(cache_folder(), "/var/cache/trifuse");
    for (const char* folder : {"/tmp/own", ""}) {
      const EnvironmentVariable own("TRIFUSE_CACHE", folder);
      EXPECT_EQ(cache_folder(), folder);
    }
  }
  for (const char* xdg : {"", "relative"}) {
    const EnvironmentVariable without_meaning("XDG_CACHE_HOME", xdg);
    EXPECT_EQ(cache_folder(), "/home/somebody/.cache/trifuse");
  }
  const EnvironmentVariable homeless("HOME", nullptr);
  EXPECT_EQ(cache_folder(), "");
}

}
}
