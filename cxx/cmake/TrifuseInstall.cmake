# Installs the library, its headers, the program, the files for find_package and pkg-config, and documents. Parts that were not built are
# left out, except the library.
include(CMakePackageConfigHelpers)

set(config_folder "${CMAKE_INSTALL_LIBDIR}/cmake/trifuse")
get_target_property(TRIFUSE_LIBRARY_TYPE trifuse TYPE)
foreach(name blas hdf5 zlib)
  trifuse_libraries_of(TRIFUSE_LIBRARIES_OF_${name} trifuse::${name})
  if(NOT TRIFUSE_LIBRARIES_OF_${name})
    set(TRIFUSE_LIBRARIES_OF_${name} m) # the compiler names them itself
  endif()
endforeach()

# The libraries with which C++ programs are linked and C programs are not, for projects without C++.
set(TRIFUSE_CXX_LIBRARIES ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
list(REMOVE_ITEM TRIFUSE_CXX_LIBRARIES ${CMAKE_C_IMPLICIT_LINK_LIBRARIES})
list(APPEND TRIFUSE_CXX_LIBRARIES m)
list(REMOVE_DUPLICATES TRIFUSE_CXX_LIBRARIES)

install(TARGETS trifuse EXPORT trifuse
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/trifuse"
  FILE_SET generated_headers DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/trifuse"
  FILE_SET c_headers DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT trifuse NAMESPACE trifuse:: FILE trifuseTargets.cmake DESTINATION "${config_folder}")

configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cxx/cmake/trifuseConfig.cmake.in" "${PROJECT_BINARY_DIR}/generated/trifuseConfig.cmake"
  INSTALL_DESTINATION "${config_folder}" PATH_VARS CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/generated/trifuseConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/generated/trifuseConfig.cmake"
              "${PROJECT_BINARY_DIR}/generated/trifuseConfigVersion.cmake"
              "${PROJECT_SOURCE_DIR}/cxx/cmake/TrifuseBlas.cmake"
              "${PROJECT_SOURCE_DIR}/cxx/cmake/TrifuseDependencies.cmake"
        DESTINATION "${config_folder}")

# Installs NAME.pc. Its prefix is relative to the file itself, so that an installation can be moved.
function(trifuse_install_pc name pc_description pc_requires pc_libs pc_cflags)
  file(RELATIVE_PATH pc_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
  configure_file("${PROJECT_SOURCE_DIR}/cxx/cmake/trifuse.pc.in" "${PROJECT_BINARY_DIR}/generated/${name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/generated/${name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()

# A program that links a static library also needs the libraries of that library, and those of C++ if the program is in another language. A
# shared library names its own libraries.
set(requires "")
set(libs "")
if(TRIFUSE_LIBRARY_TYPE STREQUAL "STATIC_LIBRARY")
  if(TRIFUSE_HAS_CUDA)
    list(APPEND TRIFUSE_PC_LIBS "-L${CUDAToolkit_LIBRARY_DIR}" -lcudart_static -lrt -lpthread)
  endif()
  foreach(library ${TRIFUSE_CXX_LIBRARIES})
    list(APPEND TRIFUSE_PC_LIBS -l${library})
  endforeach()
  if(NOT TRIFUSE_CONTAINS_FMT)
    list(APPEND TRIFUSE_PC_REQUIRES fmt)
  endif()
  list(JOIN TRIFUSE_PC_REQUIRES " " requires)
  list(JOIN TRIFUSE_PC_LIBS " " libs)
endif()
trifuse_install_pc(trifuse "${PROJECT_DESCRIPTION}" "${requires}" "-ltrifuse ${libs}" "-I\${includedir} -I\${includedir}/trifuse")
if(TARGET trifuse_fortran)
  trifuse_install_pc(trifuse-fortran "Fortran modules of Trifuse, compiled by ${CMAKE_Fortran_COMPILER_ID} ${CMAKE_Fortran_COMPILER_VERSION}"
    "trifuse = ${PROJECT_VERSION}" -ltrifuse_fortran
    "-I\${includedir}/trifuse/${CMAKE_Fortran_COMPILER_ID}-${CMAKE_Fortran_COMPILER_VERSION}")
endif()

# Files that users copy or read.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/drivers/pyscf_export" DESTINATION "${CMAKE_INSTALL_DATADIR}/trifuse" PATTERN __pycache__ EXCLUDE)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/inputs/" DESTINATION "${CMAKE_INSTALL_DATADIR}/trifuse/examples" USE_SOURCE_PERMISSIONS)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/CITATION.cff" "${PROJECT_SOURCE_DIR}/tce_tiles/docs/dump-format.md"
              "${PROJECT_SOURCE_DIR}/drivers/docs/report.schema.json"
        DESTINATION "${CMAKE_INSTALL_DOCDIR}")
include(TrifusePages)
