# Installs the library, its headers, the program, and what find_package and pkg-config need.
include(CMakePackageConfigHelpers)

set(config_folder "${CMAKE_INSTALL_LIBDIR}/cmake/trifuse")
get_target_property(TRIFUSE_LIBRARY_TYPE trifuse TYPE)

install(TARGETS trifuse EXPORT trifuse
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/trifuse"
  FILE_SET generated_headers DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/trifuse")
install(EXPORT trifuse NAMESPACE trifuse:: FILE trifuseTargets.cmake DESTINATION "${config_folder}")

configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cxx/cmake/trifuseConfig.cmake.in" "${PROJECT_BINARY_DIR}/generated/trifuseConfig.cmake"
  INSTALL_DESTINATION "${config_folder}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/generated/trifuseConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/generated/trifuseConfig.cmake"
              "${PROJECT_BINARY_DIR}/generated/trifuseConfigVersion.cmake"
              "${PROJECT_SOURCE_DIR}/cxx/cmake/TrifuseBlas.cmake"
              "${PROJECT_SOURCE_DIR}/cxx/cmake/TrifuseDependencies.cmake"
        DESTINATION "${config_folder}")

# trifuse.pc. The prefix is where the file lies, so that an installation can be moved. Who links a static library needs its
# libraries as well; those of a shared one are its own business.
file(RELATIVE_PATH pc_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
set(pc_requires "")
set(pc_libs "")
if(TRIFUSE_LIBRARY_TYPE STREQUAL "STATIC_LIBRARY")
  if(TRIFUSE_HAS_CUDA)
    list(APPEND TRIFUSE_PC_LIBS "-L${CUDAToolkit_LIBRARY_DIR}" -lcudart_static -lrt -lpthread)
  endif()
  list(JOIN TRIFUSE_PC_REQUIRES " " pc_requires)
  list(JOIN TRIFUSE_PC_LIBS " " pc_libs)
endif()
configure_file("${PROJECT_SOURCE_DIR}/cxx/cmake/trifuse.pc.in" "${PROJECT_BINARY_DIR}/generated/trifuse.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/generated/trifuse.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
