# Finds BLAS with its C interface, and LAPACK, and makes the target trifuse::blas. The choice of the user:
#
#   nothing               OpenBLAS by pkg-config or in the usual folders, else the first library that FindBLAS finds
#   BLA_VENDOR=NAME       the libraries of that vendor, as FindBLAS names them; NVPL with every version of CMake; LibSci: the libraries
#                         that Cray's compilers link by default
#   BLAS_LIBRARIES=...    these libraries, with LAPACK_LIBRARIES=... if LAPACK is in libraries of its own

# Sets `result` to true if a program that calls `function` links with the libraries ARGN. ARGN may be empty, because the compilers of Cray
# link their libraries by default.
function(_trifuse_links result function)
  unset(TRIFUSE_BLAS_LINKS CACHE)
  set(CMAKE_REQUIRED_QUIET ON)
  set(CMAKE_REQUIRED_LIBRARIES ${ARGN})
  check_cxx_source_compiles("extern \"C\" void ${function}();\nint main() { ${function}(); }" TRIFUSE_BLAS_LINKS)
  set(${result} "${TRIFUSE_BLAS_LINKS}" PARENT_SCOPE)
  unset(TRIFUSE_BLAS_LINKS CACHE)
endfunction()

# Sets TRIFUSE_BLAS_FOUND_LIBRARIES in the caller: libraries with BLAS, its C interface and LAPACK; empty if the compiler links them by default.
# Sets TRIFUSE_BLAS_PROBLEM instead if there are none.
function(_trifuse_find_blas_libraries)
  include(CheckCXXSourceCompiles)
  set(vendor "${BLA_VENDOR}")
  set(blas ${BLAS_LIBRARIES})
  set(lapack ${LAPACK_LIBRARIES})
  set(TRIFUSE_BLAS_PROBLEM "" PARENT_SCOPE)
  if(vendor STREQUAL "NVPL" AND NOT blas)
    foreach(name nvpl_lapack_lp64_seq nvpl_lapack_core nvpl_blas_lp64_seq nvpl_blas_core)
      find_library(TRIFUSE_${name} ${name})
      mark_as_advanced(TRIFUSE_${name})
      if(TRIFUSE_${name})
        list(APPEND blas "${TRIFUSE_${name}}")
      endif()
    endforeach()
  endif()
  if(NOT blas AND NOT vendor STREQUAL "LibSci")
    find_package(BLAS QUIET)
    if(NOT BLAS_FOUND)
      set(TRIFUSE_BLAS_PROBLEM "CMake found none" PARENT_SCOPE)
      return()
    endif()
    set(blas ${BLAS_LIBRARIES} ${BLAS_LINKER_FLAGS})
  endif()
  _trifuse_links(has_blas ddot_ ${blas})
  if(NOT has_blas)
    list(JOIN blas " " blas)
    set(TRIFUSE_BLAS_PROBLEM "a program that calls ddot_ does not link with: ${blas}" PARENT_SCOPE)
    return()
  endif()
  # Libraries such as MKL and OpenBLAS contain LAPACK. BLIS does not: any LAPACK goes with it.
  if(NOT lapack)
    _trifuse_links(has_lapack dsyev_ ${blas})
    if(NOT has_lapack)
      foreach(BLA_VENDOR "${vendor}" Generic)
        find_package(LAPACK QUIET)
        if(LAPACK_FOUND)
          break()
        endif()
      endforeach()
      if(NOT LAPACK_FOUND)
        set(TRIFUSE_BLAS_PROBLEM "there is no LAPACK for ${blas}" PARENT_SCOPE)
        return()
      endif()
      set(lapack ${LAPACK_LIBRARIES})
    endif()
  endif()
  # BLAS comes first, so that its symbols have precedence over those of a LAPACK library that also contains BLAS.
  set(libraries ${blas} ${lapack})
  _trifuse_links(has_cblas cblas_dgemm ${libraries})
  if(NOT has_cblas)
    find_library(TRIFUSE_CBLAS_LIBRARY cblas)
    mark_as_advanced(TRIFUSE_CBLAS_LIBRARY)
    if(NOT TRIFUSE_CBLAS_LIBRARY)
      list(JOIN libraries " " libraries)
      set(TRIFUSE_BLAS_PROBLEM "there is no C interface for ${libraries}" PARENT_SCOPE)
      return()
    endif()
    list(PREPEND libraries "${TRIFUSE_CBLAS_LIBRARY}")
  endif()
  set(TRIFUSE_BLAS_FOUND_LIBRARIES "${libraries}" PARENT_SCOPE)
endfunction()

# Sets in the caller TRIFUSE_CBLAS_NAME, the header that declares the C interface of the libraries ARGN, and TRIFUSE_CBLAS_FOLDER, its
# folder; empty if the compiler finds the header by default.
function(_trifuse_find_cblas_header)
  set(hints "")
  foreach(library ${ARGN})
    if(IS_ABSOLUTE "${library}")
      # The headers of /opt/blis/lib/libblis.so are in /opt/blis/include, those of MKL are further up. Debian's folders of headers and of libraries
      # have the same names.
      get_filename_component(folder "${library}" DIRECTORY)
      get_filename_component(name "${folder}" NAME)
      get_filename_component(parent "${folder}" DIRECTORY)
      get_filename_component(grandparent "${parent}" DIRECTORY)
      get_filename_component(triplet "${parent}" NAME)
      list(APPEND hints "${grandparent}/../include/${triplet}/${name}" "${grandparent}/include/${triplet}/${name}" "${parent}/include"
        "${grandparent}/include")
    endif()
  endforeach()
  set(names cblas.h mkl_cblas.h nvpl_blas_cblas.h)
  if(BLA_VENDOR MATCHES "^Intel" OR "${ARGN}" MATCHES "libmkl_")
    set(names mkl_cblas.h)
  elseif(BLA_VENDOR STREQUAL "NVPL")
    set(names nvpl_blas_cblas.h)
  endif()
  set(folder "")
  foreach(name ${names})
    find_path(TRIFUSE_CBLAS_HEADER ${name} HINTS ${hints} ENV MKLROOT ENV CRAY_LIBSCI_PREFIX_DIR ENV CPATH
      PATH_SUFFIXES include cblas blis flexiblas mkl openblas)
    mark_as_advanced(TRIFUSE_CBLAS_HEADER)
    if(TRIFUSE_CBLAS_HEADER)
      set(TRIFUSE_CBLAS_NAME ${name} PARENT_SCOPE)
      set(TRIFUSE_CBLAS_FOLDER "${TRIFUSE_CBLAS_HEADER}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  include(CheckIncludeFileCXX)
  check_include_file_cxx(cblas.h TRIFUSE_CBLAS_HEADER_OF_COMPILER)
  if(TRIFUSE_CBLAS_HEADER_OF_COMPILER)
    set(TRIFUSE_CBLAS_NAME cblas.h PARENT_SCOPE)
    set(TRIFUSE_CBLAS_FOLDER "" PARENT_SCOPE)
  endif()
endfunction()

# Makes trifuse::blas; appends to TRIFUSE_PC_REQUIRES and TRIFUSE_PC_LIBS of the caller.
function(_trifuse_import_blas)
  if(NOT BLA_VENDOR AND NOT BLAS_LIBRARIES)
    _trifuse_import(trifuse::blas cblas.h openblas openblas)
  endif()
  if(NOT TARGET trifuse::blas)
    _trifuse_find_blas_libraries()
    if(NOT TRIFUSE_BLAS_PROBLEM)
      _trifuse_find_cblas_header(${TRIFUSE_BLAS_FOUND_LIBRARIES})
      if(NOT TRIFUSE_CBLAS_NAME)
        set(TRIFUSE_BLAS_PROBLEM "there is no header of the C interface")
      endif()
    endif()
    if(TRIFUSE_CBLAS_NAME)
      add_library(trifuse::blas INTERFACE IMPORTED)
      target_link_libraries(trifuse::blas INTERFACE ${TRIFUSE_BLAS_FOUND_LIBRARIES})
      if(NOT TRIFUSE_CBLAS_NAME STREQUAL "cblas.h")
        # The sources include the usual name.
        set(forward "${CMAKE_CURRENT_BINARY_DIR}/generated/cblas")
        file(CONFIGURE OUTPUT "${forward}/cblas.h" CONTENT "#include <${TRIFUSE_CBLAS_NAME}>\n")
        target_include_directories(trifuse::blas INTERFACE "${forward}")
      endif()
      if(TRIFUSE_CBLAS_FOLDER)
        target_include_directories(trifuse::blas INTERFACE "${TRIFUSE_CBLAS_FOLDER}")
      endif()
      list(APPEND TRIFUSE_PC_LIBS ${TRIFUSE_BLAS_FOUND_LIBRARIES})
    endif()
  endif()
  set(TRIFUSE_BLAS_PROBLEM "${TRIFUSE_BLAS_PROBLEM}" PARENT_SCOPE)
  set(TRIFUSE_PC_REQUIRES "${TRIFUSE_PC_REQUIRES}" PARENT_SCOPE)
  set(TRIFUSE_PC_LIBS "${TRIFUSE_PC_LIBS}" PARENT_SCOPE)
endfunction()

# Stops the configuration if a program does not link with trifuse::blas, or if the integers of BLAS or LAPACK have 64 bits (ILP64). Trifuse
# calls both with the integers of C. A library with larger integers would read the memory behind them.
function(trifuse_check_blas)
  trifuse_libraries_of(link trifuse::blas)
  list(JOIN link " " libraries)
  if(TRIFUSE_CHECKED_BLAS STREQUAL "${libraries}")
    return()
  endif()
  # In 64 bits the two integers of `two` are a negative number, for which both functions return 0.
  set(source [[
#include <cstdio>
extern "C" void cblas_dgemm(int, int, int, int, int, int, double, const double*, int, const double*, int, double, double*, int);
extern "C" double ddot_(const int*, const double*, const int*, const double*, const int*);
extern "C" double dlange_(const char*, const int*, const int*, const double*, const int*, double*, std::size_t);
extern "C" void dsyev_();
int main(int arguments, char**) {
  const int one[] = {1, 0}, two[] = {2, -1};
  const double matrix[] = {1.0, 2.0, 3.0, 4.0};
  double product[4] = {}, work[4];
  if (arguments > 9) dsyev_();  // links
  const double dot = ddot_(two, matrix, one, matrix, one), largest = dlange_("M", two, two, matrix, two, work, 1);
  if (dot == 5.0 && largest == 4.0) {
    const int columns = 102, plain = 111;  // CblasColMajor, CblasNoTrans
    cblas_dgemm(columns, plain, plain, 2, 2, 2, 1.0, matrix, 2, matrix, 2, 0.0, product, 2);
    std::puts(product[0] == 7.0 && product[3] == 22.0 ? "LP64" : "WRONG");
  } else {
    std::puts((dot == 5.0 || dot == 0.0) && (largest == 4.0 || largest == 0.0) ? "ILP64" : "WRONG");
  }
}
]])
  if(CMAKE_CROSSCOMPILING)
    message(STATUS "Cross-compiling: the size of the integers of ${libraries} is not checked. They must have 32 bits.")
    return()
  endif()
  try_run(status links SOURCE_FROM_VAR integers.cpp source LINK_LIBRARIES ${link} NO_CACHE
    COMPILE_OUTPUT_VARIABLE messages RUN_OUTPUT_VARIABLE answer)
  if(NOT links)
    message(FATAL_ERROR "A program does not link with the BLAS and LAPACK that were found (${libraries}):\n${messages}")
  elseif(answer MATCHES "ILP64")
    message(FATAL_ERROR "This BLAS or LAPACK has 64-bit integers (ILP64): ${libraries}. Trifuse needs the variant with 32-bit "
      "integers (LP64); choose it with BLA_VENDOR, or BLAS_LIBRARIES and LAPACK_LIBRARIES.")
  elseif(answer MATCHES "WRONG")
    message(FATAL_ERROR "This BLAS or LAPACK computes wrong numbers for two small matrices: ${libraries}.")
  elseif(NOT answer MATCHES "LP64")
    message(FATAL_ERROR "A program that calls this BLAS does not run (${status}): ${libraries}. Is its folder in LD_LIBRARY_PATH?\n${answer}")
  endif()
  set(TRIFUSE_CHECKED_BLAS "${libraries}" CACHE INTERNAL "Libraries that trifuse_check_blas has accepted")
endfunction()
