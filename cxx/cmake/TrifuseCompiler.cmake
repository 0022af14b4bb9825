# Compiler checks and the options that all targets of Trifuse share.

if((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12) OR
   (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 15))
  message(FATAL_ERROR "Trifuse is C++20 and needs GCC 12 or Clang 15 or newer; this is ${CMAKE_CXX_COMPILER_ID} "
                      "${CMAKE_CXX_COMPILER_VERSION}. Choose another one with -DCMAKE_CXX_COMPILER=.")
endif()

if(TRIFUSE_SANITIZE AND NOT TRIFUSE_SANITIZE MATCHES "^[a-z]+([+][a-z]+)*$")
  message(FATAL_ERROR "TRIFUSE_SANITIZE is \"${TRIFUSE_SANITIZE}\"; it names sanitizers joined by +, e.g. address+undefined.")
endif()

function(trifuse_compile_options target)
  set(warnings -Wall -Wextra -Wshadow)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # With optimisation, GCC 12 warns wrongly about fmt 9 and about "text" + std::string (its bug 105329).
    list(APPEND warnings -Wno-stringop-overflow -Wno-restrict)
  elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # Clang warns about each loop with `omp simd` that it does not vectorise, e.g. loops that find a largest number.
    list(APPEND warnings -Wno-pass-failed)
  endif()
  set(error "")
  set(cuda_error "")
  if(TRIFUSE_WARNINGS_AS_ERRORS)
    set(error -Werror)
    set(cuda_error --Werror=all-warnings -Xcompiler=-Werror)
  endif()
  list(TRANSFORM warnings PREPEND "-Xcompiler=" OUTPUT_VARIABLE cuda_warnings)
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:${warnings};-Wpedantic;${error}>"
    "$<$<COMPILE_LANGUAGE:CUDA>:${cuda_warnings};${cuda_error}>")
  # No code reads the flags of floating-point exceptions. A compiler that must keep them cannot use vectors in loops with a condition.
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-fno-trapping-math>")
  if(TRIFUSE_SANITIZE)
    string(REPLACE "+" "," sanitizers "${TRIFUSE_SANITIZE}")
    set(options -fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${options}>")
    # The program has a fixed address. Otherwise each start would relocate a million addresses in the records of the sanitizers.
    target_link_options(${target} PUBLIC -fsanitize=${sanitizers} "$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>")
  endif()
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
endfunction()

# Compiles several sources of `target` in one compilation, because each source alone spends most of its time on the same headers. A source
# that lacks an include may then compile in spite of it; the test sources/includes finds such a source. The presets `release` and `development`
# do this with tests only, so that little is compiled again after a change. tests/run.sh does it with all sources.
# ARGN: lists of sources, each of which is compiled in batches of its own, because other sources of the target define the same names, too.
function(trifuse_compile_in_batches target)
  get_target_property(all ${target} SOURCES)
  list(FILTER all INCLUDE REGEX "[.]cpp$")
  set(sources "")
  foreach(source IN LISTS all)
    get_filename_component(source "${source}" ABSOLUTE)
    list(APPEND sources "${source}")
  endforeach()
  set(number 1)
  while(number LESS ARGC)
    foreach(source IN LISTS ARGV${number})
      get_filename_component(source "${source}" ABSOLUTE)
      list(REMOVE_ITEM sources "${source}")
      set_source_files_properties("${source}" TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP "separate_${number}")
    endforeach()
    math(EXPR number "${number} + 1")
  endwhile()
  list(LENGTH sources count)
  math(EXPR batches "(${count} + 31) / 32")
  set(number 0)
  foreach(source IN LISTS sources)
    math(EXPR batch "${number} * ${batches} / ${count}")
    set_source_files_properties("${source}" TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP "batch_${batch}")
    math(EXPR number "${number} + 1")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # A local variable may have the name of a constant of another source. A class of a source file may use the types that only this file has.
  target_compile_options(${target} PRIVATE -Wno-shadow "$<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>")
  # GCC looks for memory to free from 1 GB on only. Looking takes up to a tenth of the time of a large batch.
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=1000000>")
endfunction()
