# Finds Global Arrays by their program ga-config, and the MPI that they were built with. Sets GlobalArrays_FOUND and makes
# the target GlobalArrays::C: headers and libraries. If Fortran is enabled and a Fortran program links with them, it also
# makes GlobalArrays::Fortran, which has compile options (the size of integers).
find_program(GlobalArrays_CONFIG ga-config)
mark_as_advanced(GlobalArrays_CONFIG)
if(GlobalArrays_CONFIG)
  foreach(part fflags cppflags ldflags libs flibs)
    execute_process(COMMAND "${GlobalArrays_CONFIG}" --${part} OUTPUT_VARIABLE ga_${part} OUTPUT_STRIP_TRAILING_WHITESPACE
      RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
      set(ga_libs "")
    endif()
    separate_arguments(ga_${part} NATIVE_COMMAND "${ga_${part}}")
  endforeach()
endif()
find_package(MPI QUIET COMPONENTS C)
if(CMAKE_Fortran_COMPILER_LOADED)
  find_package(MPI QUIET COMPONENTS C Fortran)
endif()

# ga-config may name libraries that do not exist, so a program is linked as a test.
if(GlobalArrays_CONFIG AND ga_libs AND MPI_C_FOUND)
  list(JOIN ga_cppflags " " CMAKE_REQUIRED_FLAGS)
  set(CMAKE_REQUIRED_LIBRARIES ${ga_ldflags} ${ga_libs} ${ga_flibs} MPI::MPI_C)
  include(CheckCSourceCompiles)
  check_c_source_compiles("
#include <ga.h>
#include <macdecls.h>
int main(void) {
  GA_Initialize();
  GA_Terminate();
  return 0;
}" GlobalArrays_LINKS)
  if(MPI_Fortran_FOUND)
    list(JOIN ga_fflags " " CMAKE_REQUIRED_FLAGS)
    foreach(flag ${ga_cppflags})
      string(APPEND CMAKE_REQUIRED_FLAGS " ${flag}")
    endforeach()
    set(CMAKE_REQUIRED_LIBRARIES ${ga_ldflags} ${ga_libs} MPI::MPI_Fortran MPI::MPI_C)
    include(CheckFortranSourceCompiles)
    check_fortran_source_compiles("
program try
  implicit none
#include \"mafdecls.fh\"
#include \"global.fh\"
  call ga_initialize()
  call ga_terminate()
end program" GlobalArrays_LINKS_FORTRAN SRC_EXT F90)
  endif()
  unset(CMAKE_REQUIRED_FLAGS)
  unset(CMAKE_REQUIRED_LIBRARIES)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(GlobalArrays REQUIRED_VARS GlobalArrays_CONFIG GlobalArrays_LINKS)
if(GlobalArrays_FOUND AND NOT TARGET GlobalArrays::C)
  add_library(GlobalArrays::C INTERFACE IMPORTED)
  target_compile_options(GlobalArrays::C INTERFACE "$<$<COMPILE_LANGUAGE:C,CXX>:${ga_cppflags}>")
  # Many of the libraries belong to parts of Global Arrays that Trifuse does not call.
  target_link_libraries(GlobalArrays::C INTERFACE
    -Wl,--push-state,--as-needed ${ga_ldflags} ${ga_libs} ${ga_flibs} -Wl,--pop-state MPI::MPI_C)
endif()
if(GlobalArrays_FOUND AND GlobalArrays_LINKS_FORTRAN AND NOT TARGET GlobalArrays::Fortran)
  add_library(GlobalArrays::Fortran INTERFACE IMPORTED)
  target_compile_options(GlobalArrays::Fortran INTERFACE "$<$<COMPILE_LANGUAGE:Fortran>:${ga_fflags};${ga_cppflags}>")
  target_link_libraries(GlobalArrays::Fortran INTERFACE ${ga_ldflags} ${ga_libs} MPI::MPI_Fortran MPI::MPI_C)
endif()
