#include "cxx/cuda/schedule/exchange_handle.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace trifuse::gpu {
namespace {

const std::string described_operands = "8 16 fp64 1024 2048";

TEST(ExchangeHandle, ReadsWhatWasWritten) {
  for (const ExportedMemory& exported : {ExportedMemory{"0a1b", "2c3d", 4096}, ExportedMemory{"0a1b", "", 0},
                                         ExportedMemory{"", "2c3d", std::int64_t{3} << 40}}) {
    EXPECT_EQ(read_handle(described_operands, write_handle(described_operands, exported)), exported);
  }
}

TEST(ExchangeHandle, IsEmptyIfNothingIsExported) {
  EXPECT_EQ(write_handle(described_operands, {}), "");
  EXPECT_EQ(read_handle(described_operands, ""), ExportedMemory());
}

TEST(ExchangeHandle, OfOtherOperandsIsIgnored) {
  const ExportedMemory exported{"0a1b", "2c3d", 4096};
  for (const char* const other : {"8 16 fp64 1024 204", "8 16 fp64 1024 20481", "8 16 mixed 1024 2048", ""}) {
    EXPECT_EQ(read_handle(described_operands, write_handle(other, exported)), ExportedMemory()) << other;
  }
}

TEST(ExchangeHandle, ThatIsDamagedIsIgnored) {
  for (const char* const text : {"", " | ", " | 4096", " | 4096 0a1b", " | x 0a1b 2c3d", " |  0a1b 2c3d",
                                 " | 40 96 0a1b 2c3d", " | 4096x 0a1b 2c3d", " | 99999999999999999999 0a1b 2c3d"}) {
    EXPECT_EQ(read_handle(described_operands, described_operands + text), ExportedMemory()) << text;
  }
}

}
}
