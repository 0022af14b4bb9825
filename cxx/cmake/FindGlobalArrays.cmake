# Finds Global Arrays with its Fortran interface, by its program ga-config, and the MPI that it was built with. Sets
# GlobalArrays_FOUND and makes the target GlobalArrays::Fortran: compile options (the size of integers), headers, libraries.
find_program(GlobalArrays_CONFIG ga-config)
mark_as_advanced(GlobalArrays_CONFIG)
if(GlobalArrays_CONFIG)
  foreach(part fflags cppflags ldflags libs)
    execute_process(COMMAND "${GlobalArrays_CONFIG}" --${part} OUTPUT_VARIABLE ga_${part} OUTPUT_STRIP_TRAILING_WHITESPACE
      RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
      set(ga_libs "")
    endif()
    separate_arguments(ga_${part} NATIVE_COMMAND "${ga_${part}}")
  endforeach()
endif()
find_package(MPI QUIET COMPONENTS C Fortran)

# ga-config may name libraries that are not there: whether a program links decides.
if(GlobalArrays_CONFIG AND ga_libs AND MPI_Fortran_FOUND AND MPI_C_FOUND AND CMAKE_Fortran_COMPILER_LOADED)
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
end program" GlobalArrays_LINKS SRC_EXT F90)
  unset(CMAKE_REQUIRED_FLAGS)
  unset(CMAKE_REQUIRED_LIBRARIES)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(GlobalArrays REQUIRED_VARS GlobalArrays_CONFIG GlobalArrays_LINKS)
if(GlobalArrays_FOUND AND NOT TARGET GlobalArrays::Fortran)
  add_library(GlobalArrays::Fortran INTERFACE IMPORTED)
  target_compile_options(GlobalArrays::Fortran INTERFACE "$<$<COMPILE_LANGUAGE:Fortran>:${ga_fflags};${ga_cppflags}>")
  target_link_libraries(GlobalArrays::Fortran INTERFACE ${ga_ldflags} ${ga_libs} MPI::MPI_Fortran MPI::MPI_C)
endif()
