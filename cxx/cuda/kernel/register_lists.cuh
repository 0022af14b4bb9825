#pragma once

/// The registers of sums d[row][4] in the text and among the operands of an inline instruction. An instruction has one
/// register for each sum, and the compiler takes no list of them, so macros write the lists.

/// The names of 16 registers in the text, for four rows.
#define TRIFUSE_REGISTERS_0 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define TRIFUSE_REGISTERS_16 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define TRIFUSE_REGISTERS_32 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define TRIFUSE_REGISTERS_48 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define TRIFUSE_REGISTERS_64 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
/// Rows as operands, from row n on. `access`: "+f", or "=f" if they are only written.
#define TRIFUSE_ROW(access, d, n) access(d[n][0]), access(d[n][1]), access(d[n][2]), access(d[n][3])
#define TRIFUSE_FOUR_ROWS(access, d, n)                                                        \
  TRIFUSE_ROW(access, d, n), TRIFUSE_ROW(access, d, (n) + 1), TRIFUSE_ROW(access, d, (n) + 2), \
      TRIFUSE_ROW(access, d, (n) + 3)
