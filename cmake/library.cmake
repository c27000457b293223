# gemm_course::gemm: common/blas/gemm_course.hpp over the lessons that say INSTALLED, for programs of one's own, here, by
# add_subdirectory(), or by find_package(gemm_course) after `cmake --install`.
if(GEMM_DEVICE STREQUAL "cpu")
  gemm_prepared_headers(gemm_kernel_headers prepared/plain _kernel)
endif()
gemm_kernels(gemm_course_kernel common/blas/gemm_course.cu)
get_property(installed GLOBAL PROPERTY GEMM_INSTALLED)
get_property(namespaces GLOBAL PROPERTY GEMM_INSTALLED_NAMESPACES)
set(list ${PROJECT_BINARY_DIR}/generated/installed_lessons.cpp)
gemm_lesson_list(${list} common/blas/installed.hpp installed_lessons ${namespaces})
# The kernels' objects themselves, and no targets that would have to be installed with it.
list(TRANSFORM installed REPLACE "(.+)" "$<TARGET_OBJECTS:\\1_kernel>")
add_library(gemm_course STATIC ${list} $<TARGET_OBJECTS:gemm_course_kernel> ${installed})
add_library(gemm_course::gemm ALIAS gemm_course)
target_link_libraries(gemm_course PUBLIC gemm_host)
target_compile_features(gemm_course PUBLIC cxx_std_20)
target_include_directories(gemm_course INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/common/blas>)
set_target_properties(gemm_course PROPERTIES EXPORT_NAME gemm)

# All of it in folders of its own, since the CPU device brings headers that are called as CUDA's. In a component of its own:
# packages that were fetched for the course have things to install, too.
include(GNUInstallDirs)
set(headers ${CMAKE_INSTALL_INCLUDEDIR}/gemm_course)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/gemm_course)
set(targets gemm_course gemm_host gemm_device)
set(folders ${headers})
set(dependencies "find_dependency(CUDAToolkit 12)")
install(FILES common/blas/gemm_course.hpp DESTINATION ${headers} COMPONENT gemm_course)
install(FILES common/error.hpp DESTINATION ${headers}/common COMPONENT gemm_course)
if(GEMM_DEVICE STREQUAL "cpu")
  list(APPEND targets gemm_cpu_device)
  list(PREPEND folders ${headers}/common/cpu/include)
  set(dependencies "find_dependency(Threads)\nfind_dependency(Boost 1.74 COMPONENTS context)")
  # What a program's host code includes of CUDA. (Kernels of its own would have to be translated.)
  set(own cuda_bf16.h cuda_fp16.h cuda_runtime.h cuda_runtime_api.h device_atomic_functions.h)
  list(TRANSFORM own PREPEND common/cpu/include/)
  install(FILES ${own} DESTINATION ${headers}/common/cpu/include COMPONENT gemm_course)
  install(FILES common/cpu/ptx/narrow_float.hpp DESTINATION ${headers}/common/cpu/ptx COMPONENT gemm_course)
endif()
install(TARGETS ${targets} EXPORT gemm_course COMPONENT gemm_course
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/gemm_course
  INCLUDES DESTINATION ${folders})
install(EXPORT gemm_course NAMESPACE gemm_course:: FILE gemm_course-targets.cmake DESTINATION ${package} COMPONENT gemm_course)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/gemm_course-config.cmake @ONLY CONTENT [[
# Written by cmake/library.cmake of the course: gemm_course::gemm, compiled for the device gemm_course_DEVICE (cpu or cuda).
set(gemm_course_DEVICE @GEMM_DEVICE@)
include(CMakeFindDependencyMacro)
@dependencies@
include(${CMAKE_CURRENT_LIST_DIR}/gemm_course-targets.cmake)
]])
install(FILES ${PROJECT_BINARY_DIR}/gemm_course-config.cmake DESTINATION ${package} COMPONENT gemm_course)
