# gemm_kernels(<target> [TRACED] <file.cu>...)
#   An object library of kernels: compiled by nvcc, or translated and compiled by g++ for the CPU device. TRACED (CPU
#   device only): with a hook before every access to memory, for programs that link gemm_trace.
# gemm_lesson(<name> [<folder>] [INSTALLED] [ARCHITECTURES <sm>...] [FORMERLY <name>...])
#   One lesson: <folder>/kernel.cu (<folder> is <name> where there is none) with `lesson_<number>::lesson`, <number>
#   being that of the name with the letter behind it, and <folder>/main.cpp. Builds bin/<name>, and appends the lesson to
#   the list that the runner's bench program, the tests and the charts use. What its descriptor says goes to
#   lessons/<name>.json, target <name>_json. ARCHITECTURES: where the kernel runs on one architecture alone (90a), it is
#   compiled for that one, whatever CMAKE_CUDA_ARCHITECTURES says; its descriptor must say the same. FORMERLY: names that
#   it had. The runner and the site know it by them, too; the build has no use for them. INSTALLED: gemm_course::gemm has
#   it (cmake/library.cmake).
# gemm_lessons_json()
#   lessons.json of them all, in course order, target gemm_lessons_json.
# gemm_program(<target> <file.cu>)
#   A program beside a lesson, with a main() of its own: bin/<target>.

# A compiler that nobody tried here may warn where nothing is wrong: that must not stop the build of who came to learn.
option(GEMM_WERROR "Warnings are errors, as contributors and continuous integration have them" OFF)

# -Wrestrict: false alarms on std::string's operator+ in g++ 12 and 13 (GCC bug 105651).
set(GEMM_WARNINGS -Wall -Wextra -Wno-restrict)
if(GEMM_WERROR)
  list(APPEND GEMM_WARNINGS -Werror)
endif()

# A product and the sum it goes into are rounded one after the other, wherever this is compiled. g++ would fuse them where an
# instruction does both (on aarch64 always, on x86-64 with -march=native), and then what the CPU device computes, what it is
# compared with and how a submission is marked would depend on the machine. A GPU's kernels are nvcc's concern.
set(GEMM_ARITHMETIC -ffp-contract=off)
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${GEMM_ARITHMETIC}>")

# How kernels are compiled; runner/programs/CMakeLists.txt writes it down for those that are compiled without CMake.
if(GEMM_DEVICE STREQUAL "cuda")
  set(GEMM_KERNEL_OPTIONS -Xcompiler=-Wall,-Wextra -lineinfo)
  if(GEMM_WERROR)
    list(APPEND GEMM_KERNEL_OPTIONS -Werror=all-warnings)
  endif()
else()
  # Kernels reinterpret memory (float4) and carry nvcc's pragmas. A local array larger than a thread's stack must meet
  # the guard page below it, not jump over it into another thread's stack.
  set(GEMM_KERNEL_OPTIONS ${GEMM_WARNINGS} -Wpedantic -Wno-unknown-pragmas -fno-strict-aliasing -fstack-clash-protection)
  # A tensor map is a kernel's parameter by value, which g++ 4.5 passed otherwise: a note without an end.
  list(APPEND GEMM_KERNEL_OPTIONS -Wno-psabi)
  # x86-64 stops a program that divides an integer by zero. aarch64 goes on with 0; there the compiler asks before each
  # division, and stops the program with a signal of its own.
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    list(APPEND GEMM_KERNEL_OPTIONS -fsanitize=integer-divide-by-zero -fsanitize-undefined-trap-on-error)
  endif()
  # What translates them: the interpreter itself, where python3 is a script that looks for it at every start (pyenv's, asdf's).
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  execute_process(COMMAND ${Python3_EXECUTABLE} -c "import sys; print(sys.executable)"
    OUTPUT_VARIABLE GEMM_PYTHON OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  # As nvcc does: a kernel need not include it.
  list(APPEND GEMM_KERNEL_OPTIONS -include ${PROJECT_SOURCE_DIR}/common/cpu/include/cuda_runtime.h)
  # -fsanitize=thread for its hooks before accesses and trace-pc for those at basic blocks, which common/cpu/trace/hooks.cpp
  # defines instead of libtsan. The other options keep accesses as they are written: SRA would split a float4 into four, and
  # memcpy() would become instructions that have no hook (fortified, as some distributions have it, it would again).
  set(GEMM_TRACED_OPTIONS -O1 -g1 -fno-tree-sra -fno-thread-jumps -fno-sanitize=all -fsanitize=thread -fsanitize-coverage=trace-pc
    --param=tsan-instrument-func-entry-exit=0 -fno-builtin-memcpy -fno-builtin-memmove -fno-builtin-memset -U_FORTIFY_SOURCE -Wno-tsan)
  # libbacktrace joins neighboring functions of a file to one range. Where two lessons have the same function (copy_rows()), it lies
  # in such a range of one of them and counts for the other, too, and of what stands behind it the line is not found any more.
  # Between functions that are aligned there are gaps, and nothing is joined.
  list(APPEND GEMM_TRACED_OPTIONS -falign-functions=64)
  # What a variable without a value holds is chance: a sum that never began at 0 may come out right. Here it holds what no result
  # survives, and the compiler warns of it none the less. (g++ 12 and newer.)
  include(CheckCXXCompilerFlag)
  check_cxx_compiler_flag(-ftrivial-auto-var-init=pattern GEMM_FILLS_VARIABLES)
  if(GEMM_FILLS_VARIABLES)
    list(APPEND GEMM_TRACED_OPTIONS -ftrivial-auto-var-init=pattern)
  endif()
endif()

function(gemm_kernels target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TRACED" "" "")
  set(files ${arg_UNPARSED_ARGUMENTS})
  if(GEMM_DEVICE STREQUAL "cuda")
    add_library(${target} OBJECT ${files})
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:${GEMM_KERNEL_OPTIONS}>")
  else()
    set(translator ${PROJECT_SOURCE_DIR}/common/cpu/translate.py)
    set(pairs "")
    set(inputs "")
    set(sources "")
    foreach(file IN LISTS files)
      cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE input)
      cmake_path(RELATIVE_PATH input BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE relative)
      set(output ${PROJECT_BINARY_DIR}/translated/${target}/${relative}.cpp)
      list(APPEND pairs ${input} ${output})
      list(APPEND inputs ${input})
      list(APPEND sources ${output})
    endforeach()
    set_property(GLOBAL APPEND PROPERTY GEMM_TRANSLATED ${inputs})
    # All of them by one process, which leaves alone what stays as it was. The stamp is what make compares with the inputs.
    set(stamp ${PROJECT_BINARY_DIR}/translated/${target}/stamp)
    add_custom_command(OUTPUT ${stamp} ${sources}
      COMMAND ${GEMM_PYTHON} ${translator} ${pairs}
      COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
      DEPENDS ${inputs} ${translator} COMMENT "Translating ${target} for the CPU device" VERBATIM)
    add_library(${target} OBJECT ${sources})
    # With what all kernels begin with, read once for all of them.
    set(options ${GEMM_KERNEL_OPTIONS})
    set(prepared plain)
    set(headers gemm_kernel_headers)
    if(arg_TRACED)
      set(prepared traced)
      set(headers gemm_traced_headers)
    endif()
    list(TRANSFORM options REPLACE ".*/cuda_runtime.h$" ${PROJECT_BINARY_DIR}/prepared/${prepared}/kernel.hpp)
    add_dependencies(${target} ${headers})
    # -fpch-deps: the headers that were made ready count among those that a kernel reads, so that it is compiled again when
    # one of them changes.
    target_compile_options(${target} PRIVATE ${options} -fpch-deps)
    if(arg_TRACED)
      target_compile_options(${target} PRIVATE ${GEMM_TRACED_OPTIONS})
      target_compile_definitions(${target} PRIVATE GEMM_TRACED=1)
    endif()
  endif()
  target_link_libraries(${target} PUBLIC gemm_device)
endfunction()

function(gemm_lesson name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "INSTALLED" "ARCHITECTURES" "FORMERLY")
  if(GEMM_LIBRARY_ONLY AND NOT arg_INSTALLED)
    return()
  endif()
  set(folder ${name})
  if(arg_UNPARSED_ARGUMENTS)
    set(folder ${arg_UNPARSED_ARGUMENTS})
  endif()
  string(REGEX MATCH "^[0-9]+[a-z]?" number ${name})
  gemm_kernels(${name}_kernel ${folder}/kernel.cu)
  set(compiled_for "")
  if(arg_ARCHITECTURES)
    set_target_properties(${name}_kernel PROPERTIES CUDA_ARCHITECTURES ${arg_ARCHITECTURES}-real)
    set_property(GLOBAL PROPERTY GEMM_ARCHITECTURES_${name} ${arg_ARCHITECTURES})
    set(compiled_for --architectures=${arg_ARCHITECTURES})
  endif()
  set_property(GLOBAL APPEND PROPERTY GEMM_LESSONS ${name})
  set_property(GLOBAL APPEND PROPERTY GEMM_LESSON_NAMESPACES lesson_${number})
  if(arg_INSTALLED)
    set_property(GLOBAL APPEND PROPERTY GEMM_INSTALLED ${name})
    set_property(GLOBAL APPEND PROPERTY GEMM_INSTALLED_NAMESPACES lesson_${number})
  endif()
  if(GEMM_LIBRARY_ONLY)
    return()
  endif()
  if(GEMM_DEVICE STREQUAL "cpu")
    gemm_kernels(${name}_traced TRACED ${folder}/kernel.cu)
  endif()
  add_executable(${name} ${folder}/main.cpp)
  target_compile_options(${name} PRIVATE ${GEMM_WARNINGS} -Wpedantic)
  target_link_libraries(${name} PRIVATE ${name}_kernel gemm_common)
  set(description ${PROJECT_BINARY_DIR}/lessons/${name}.json)
  add_custom_command(OUTPUT ${description}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/lessons
    COMMAND ${name} --describe=${description} --folder=${folder} ${compiled_for}
    DEPENDS ${name} COMMENT "Asking ${name} for its descriptor" VERBATIM)
  add_custom_target(${name}_json DEPENDS ${description})
endfunction()

function(gemm_lessons_json)
  get_property(lessons GLOBAL PROPERTY GEMM_LESSONS)
  list(TRANSFORM lessons REPLACE "(.+)" "${PROJECT_BINARY_DIR}/lessons/\\1.json" OUTPUT_VARIABLE descriptions)
  list(TRANSFORM lessons APPEND _json OUTPUT_VARIABLE targets)
  set(joined ${PROJECT_BINARY_DIR}/lessons.json)
  list(JOIN descriptions "," files)
  add_custom_command(OUTPUT ${joined}
    COMMAND ${CMAKE_COMMAND} -DFILES=${files} -DOUTPUT=${joined} -P ${PROJECT_SOURCE_DIR}/cmake/lessons_json.cmake
    DEPENDS ${descriptions} ${targets} ${PROJECT_SOURCE_DIR}/cmake/lessons_json.cmake COMMENT "Writing lessons.json" VERBATIM)
  add_custom_target(gemm_lessons_json ALL DEPENDS ${joined})
endfunction()

function(gemm_program target file)
  gemm_kernels(${target}_kernel ${file})
  target_link_libraries(${target}_kernel PRIVATE gemm_common)
  add_executable(${target} $<TARGET_OBJECTS:${target}_kernel>)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${target} PRIVATE gemm_common)
endfunction()

# gemm_lesson_list(<file.cpp> <header> <function> [<namespace>...]): writes gemm::<function>(), which <header> declares: the
# lessons of these namespaces.
function(gemm_lesson_list source header function)
  set(declarations "")
  foreach(namespace IN LISTS ARGN)
    string(APPEND declarations "namespace ${namespace} {\nextern const gemm::Lesson lesson;\n}\n")
  endforeach()
  list(LENGTH ARGN count)
  list(TRANSFORM ARGN REPLACE "(.+)" "&\\1::lesson" OUTPUT_VARIABLE addresses)
  list(JOIN addresses ", " addresses)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT [[
// Generated by CMake from the gemm_lesson() lines of CMakeLists.txt.
#include "@header@"

#include <array>

@declarations@
std::span<const gemm::Lesson* const> gemm::@function@() {
    static const std::array<const gemm::Lesson*, @count@> lessons{@addresses@};
    return lessons;
}
]])
endfunction()

# gemm_all_lessons(<target> <suffix>): a library of every lesson's kernel (its target is <name><suffix>) and the
# generated gemm::all_lessons().
function(gemm_all_lessons target suffix)
  get_property(lessons GLOBAL PROPERTY GEMM_LESSONS)
  get_property(namespaces GLOBAL PROPERTY GEMM_LESSON_NAMESPACES)
  set(source ${PROJECT_BINARY_DIR}/generated/${target}.cpp)
  gemm_lesson_list(${source} common/program/lessons.hpp all_lessons ${namespaces})
  add_library(${target} STATIC ${source})
  target_link_libraries(${target} PUBLIC gemm_common)
  foreach(lesson IN LISTS lessons)
    target_link_libraries(${target} PUBLIC ${lesson}${suffix})
  endforeach()
endfunction()
