# cmake -DSOURCE=<folder> -DOUTPUT=<file> -P git_description.cmake
# Writes the source file of trifuse::git_description(), only when it changes.
set(description "")
find_program(GIT git)
if(GIT AND EXISTS "${SOURCE}/.git")
  execute_process(COMMAND "${GIT}" --no-optional-locks describe --tags --always --dirty
    WORKING_DIRECTORY "${SOURCE}" OUTPUT_VARIABLE description OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE status ERROR_QUIET)
  if(NOT status EQUAL 0)
    set(description "")
  endif()
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT
  "#include \"trifuse_config.hpp\"

const char* trifuse::git_description() { return \"${description}\"; }
")
