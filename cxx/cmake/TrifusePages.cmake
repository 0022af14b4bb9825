# Installs the pages for users, and each file to which they or the examples link, in share/trifuse by their paths in the sources. So the links
# between pages and examples hold there, too, and `trifuse COMMAND --help` finds the pages. Links stand in the places of inputs and of the
# exporter.
file(GLOB user_pages CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}"
  "${PROJECT_SOURCE_DIR}/*/docs/*.md" "${PROJECT_SOURCE_DIR}/inputs/*.md" "${PROJECT_SOURCE_DIR}/inputs/*/*.md")
list(REMOVE_ITEM user_pages cxx/docs/architecture.md) # for developers
set(page_files ${user_pages})
foreach(page ${user_pages})
  get_filename_component(page_folder "${page}" DIRECTORY)
  file(READ "${PROJECT_SOURCE_DIR}/${page}" text)
  string(REGEX REPLACE "[][;]" " " text "${text}") # they have a meaning in lists of CMake
  # A link is ](path) or, at the end of a page, ]: path.
  string(REGEX MATCHALL "\\([^() #:]+[#)]|\n [^ \n]+ : [^ \n#:]+|: [a-z./][^ \n#:]*[a-z]\n" links "${text}")
  foreach(link ${links})
    string(REGEX REPLACE "^.*[(: ]" "" link "${link}")
    string(REGEX REPLACE "[#)\n]+$" "" link "${link}")
    cmake_path(SET target NORMALIZE "${page_folder}/${link}")
    if(EXISTS "${PROJECT_SOURCE_DIR}/${target}" AND NOT IS_DIRECTORY "${PROJECT_SOURCE_DIR}/${target}")
      list(APPEND page_files "${target}")
    endif()
  endforeach()
endforeach()
list(REMOVE_DUPLICATES page_files)
list(FILTER page_files EXCLUDE REGEX "^inputs/|^\\.\\./")
set(page_components Unspecified)
if(TRIFUSE_PYTHON_PACKAGE)
  list(APPEND page_components python)
endif()
foreach(component ${page_components})
  foreach(file ${page_files})
    get_filename_component(page_folder "${file}" DIRECTORY)
    install(FILES "${PROJECT_SOURCE_DIR}/${file}" DESTINATION "${CMAKE_INSTALL_DATADIR}/trifuse/${page_folder}" COMPONENT ${component})
  endforeach()
endforeach()
install(CODE "
  set(share \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/trifuse\")
  foreach(link examples:inputs ../pyscf_export:drivers/pyscf_export)
    string(REPLACE : \";\" link \"\${link}\")
    list(GET link 0 target)
    list(GET link 1 name)
    if(NOT EXISTS \"\${share}/\${name}\")
      file(CREATE_LINK \"\${target}\" \"\${share}/\${name}\" SYMBOLIC)
    endif()
  endforeach()")
