#pragma once

/// Compiles a function once for each vector width. One version is selected when the program starts. With sanitizers the
/// macro does nothing, because they cannot instrument the selection.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define TRIFUSE_VECTOR_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define TRIFUSE_VECTOR_CLONES
#endif

/// Marks functions that a function with TRIFUSE_VECTOR_CLONES calls. Code that is not inlined would be compiled for the
/// narrowest vectors only.
#if defined(__GNUC__)
#define TRIFUSE_ALWAYS_INLINE __attribute__((always_inline)) inline
#else
#define TRIFUSE_ALWAYS_INLINE inline
#endif
