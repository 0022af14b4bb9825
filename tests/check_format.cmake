# cmake -DSOURCE=<root> -DCLANG_FORMAT=<program> -P check_format.cmake
# Fails with the messages of clang-format if a C, C++ or CUDA file is not formatted. `clang-format -i FILE` formats it.
set(patterns "")
foreach(folder cxx tce_tiles drivers tests fortran_iface)
  foreach(suffix c cpp hpp h cu cuh)
    list(APPEND patterns "${SOURCE}/${folder}/*.${suffix}")
  endforeach()
endforeach()
file(GLOB_RECURSE files ${patterns})
execute_process(COMMAND "${CLANG_FORMAT}" --dry-run --Werror ${files} WORKING_DIRECTORY "${SOURCE}"
  RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "Some sources are not formatted as .clang-format says.")
endif()
