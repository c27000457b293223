# gemm_write_link_json(<main> <file> [TRACED])
#   Writes how kernels are compiled and linked with the library <main>, which has the program's main() (runner/programs/check.cpp,
#   runner/programs/bench.cpp), into <file>, for a runner that does so without CMake. TRACED: on the CPU device, as in gemm_kernels.
#     kernel       command that compiles a kernel: append its architectures, -o OBJECT -c SOURCE. SOURCE is the .cu file, on
#                  the CPU device what common/cpu/translate.py made of it
#     architectures   what to append for a lesson's kernel, by name; "": for those that have no architecture of their own
#     prepared     where there is one: a header, made ready, to name behind kernel's -include. It is common/gemm.hpp behind what
#                  is named there; a kernel that begins with that header is compiled in less than half the time
#     objects      of each lesson's kernel, by name, for who links them with another; the targets <name>_kernel bring them about
#     link_before, link_after   the link: link_before LIST OBJECT... link_after -o PROGRAM; LIST, the list of kernels, is C++

# Imported targets belong to the folder that found them, and $<TARGET_FILE:...> is evaluated here.
find_package(Threads REQUIRED)
if(GEMM_DEVICE STREQUAL "cpu")
  find_package(Boost 1.74 REQUIRED COMPONENTS context)
endif()

# The arguments as JSON strings, separated by commas.
function(gemm_json_strings out)
  set(strings "")
  foreach(argument IN LISTS ARGN)
    string(REPLACE "\\" "\\\\" argument "${argument}")
    string(REPLACE "\"" "\\\"" argument "${argument}")
    list(APPEND strings "\"${argument}\"")
  endforeach()
  list(JOIN strings ", " strings)
  set(${out} "${strings}" PARENT_SCOPE)
endfunction()

# What a program that links `item` names on its command line for it and for what it needs, each once and before what it
# needs itself. `seen` holds the items met before.
function(gemm_link_items out seen item)
  set(items "")
  set(met ${${seen}})
  string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" item "${item}")
  if(NOT item MATCHES "^\\$<" AND NOT item MATCHES "^::@" AND NOT item IN_LIST met)
    list(APPEND met "${item}")
    if(TARGET ${item})
      get_target_property(type ${item} TYPE)
      get_target_property(needs ${item} INTERFACE_LINK_LIBRARIES)
      if(NOT needs)
        set(needs "")
      endif()
      # The last one first: each goes in front of what was found so far.
      list(REVERSE needs)
      foreach(need IN LISTS needs)
        gemm_link_items(more met "${need}")
        set(items ${more} ${items})
      endforeach()
      if(NOT type STREQUAL "INTERFACE_LIBRARY")
        list(PREPEND items "$<TARGET_LINKER_FILE:${item}>")
        if(type MATCHES "SHARED|UNKNOWN")
          list(APPEND items "-Wl,-rpath,$<TARGET_FILE_DIR:${item}>")
        endif()
      endif()
    elseif(item MATCHES "^[-/]")
      set(items "${item}")
    else()
      set(items "-l${item}")
    endif()
  endif()
  set(${out} "${items}" PARENT_SCOPE)
  set(${seen} "${met}" PARENT_SCOPE)
endfunction()

# CMake's flags for the architectures, as CMAKE_CUDA_ARCHITECTURES has them.
function(gemm_architecture_flags out)
  set(flags "")
  foreach(architecture IN LISTS ARGN)
    if(architecture MATCHES "^(native|all|all-major)$")
      list(APPEND flags -arch=${architecture})
    elseif(architecture MATCHES "^(.+)-real$")
      list(APPEND flags --generate-code=arch=compute_${CMAKE_MATCH_1},code=[sm_${CMAKE_MATCH_1}])
    elseif(architecture MATCHES "^(.+)-virtual$")
      list(APPEND flags --generate-code=arch=compute_${CMAKE_MATCH_1},code=[compute_${CMAKE_MATCH_1}])
    else()
      list(APPEND flags --generate-code=arch=compute_${architecture},code=[compute_${architecture},sm_${architecture}])
    endif()
  endforeach()
  set(${out} "${flags}" PARENT_SCOPE)
endfunction()

# How the CPU device's kernels are compiled without CMake. traced: as gemm_kernels has it.
function(gemm_command_on_cpu out traced)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" configuration)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${configuration}}")
  set(options ${GEMM_ARITHMETIC} ${GEMM_KERNEL_OPTIONS})
  if(traced)
    list(APPEND options ${GEMM_TRACED_OPTIONS})
  endif()
  # What a draft has: names that are not used yet.
  list(APPEND options -Wno-unused-variable -Wno-unused-parameter -Wno-unused-but-set-variable)
  list(REMOVE_ITEM options -Werror)
  set(${out} ${CMAKE_CXX_COMPILER} ${flags} ${options} ${CMAKE_CXX20_STANDARD_COMPILE_OPTION} PARENT_SCOPE)
endfunction()

# Generator expressions: the definitions and the folders that kernels of a kind (_kernel, _traced) are compiled with.
function(gemm_places_of_kernels definitions folders suffix)
  get_property(lessons GLOBAL PROPERTY GEMM_LESSONS)
  list(GET lessons 0 first)
  set(${definitions} $<REMOVE_DUPLICATES:$<TARGET_PROPERTY:${first}${suffix},COMPILE_DEFINITIONS>> PARENT_SCOPE)
  # The compiler looks in /usr/include anyway, last.
  set(found $<FILTER:$<TARGET_PROPERTY:${first}${suffix},INCLUDE_DIRECTORIES>,EXCLUDE,^/usr/include$>)
  set(${folders} $<REMOVE_DUPLICATES:${found}> PARENT_SCOPE)
endfunction()

# gemm_prepared_headers(<target> <place> <suffix>): makes ready what kernels of a kind (_kernel, _traced) begin with, in the build
# folder's <place>; <target> brings it about. It takes its place at once: another process may be compiling with the old one.
function(gemm_prepared_headers target place suffix)
  set(header ${PROJECT_BINARY_DIR}/${place}/kernel.hpp)
  file(CONFIGURE OUTPUT ${header} CONTENT "#include \"common/gemm.hpp\"\n")
  string(COMPARE EQUAL "${suffix}" _traced traced)
  gemm_command_on_cpu(command ${traced})
  gemm_places_of_kernels(definitions folders ${suffix})
  add_custom_command(OUTPUT ${header}.gch
    COMMAND ${command} "-D$<JOIN:${definitions},;-D>" "-I$<JOIN:${folders},;-I>" -MD -MF ${header}.d -MT ${header}.gch
      -x c++-header -o ${header}.new -c ${header}
    COMMAND ${CMAKE_COMMAND} -E rename ${header}.new ${header}.gch
    DEPENDS ${header} DEPFILE ${header}.d COMMENT "Making ready the headers of kernels" VERBATIM COMMAND_EXPAND_LISTS)
  add_custom_target(${target} DEPENDS ${header}.gch)
endfunction()

function(gemm_write_link_json main file)
  cmake_parse_arguments(PARSE_ARGV 2 arg "TRACED" "" "")
  string(TOUPPER "${CMAKE_BUILD_TYPE}" configuration)
  separate_arguments(cxx_flags UNIX_COMMAND "${CMAKE_CXX_FLAGS}")
  separate_arguments(link_flags UNIX_COMMAND "${CMAKE_EXE_LINKER_FLAGS} ${CMAKE_EXE_LINKER_FLAGS_${configuration}}")
  get_property(lessons GLOBAL PROPERTY GEMM_LESSONS)
  set(suffix _kernel)
  set(architectures "\"\": []")
  set(prepared "")
  if(GEMM_DEVICE STREQUAL "cuda")
    separate_arguments(flags UNIX_COMMAND "${CMAKE_CUDA_FLAGS} ${CMAKE_CUDA_FLAGS_${configuration}}")
    gemm_architecture_flags(flags_of_all ${CMAKE_CUDA_ARCHITECTURES})
    gemm_json_strings(flags_of_all ${flags_of_all})
    set(architectures "\"\": [${flags_of_all}]")
    foreach(lesson IN LISTS lessons)
      get_property(alone GLOBAL PROPERTY GEMM_ARCHITECTURES_${lesson})
      if(alone)
        gemm_architecture_flags(flags_of_one ${alone}-real)
        gemm_json_strings(flags_of_one ${flags_of_one})
        string(APPEND architectures ", \"${lesson}\": [${flags_of_one}]")
      endif()
    endforeach()
    set(host "")
    if(CMAKE_CUDA_HOST_COMPILER)
      set(host -ccbin=${CMAKE_CUDA_HOST_COMPILER})
    endif()
    set(options ${GEMM_KERNEL_OPTIONS})
    list(REMOVE_ITEM options -Werror=all-warnings)
    set(kernel ${CMAKE_CUDA_COMPILER} -forward-unknown-to-host-compiler ${host} ${flags} ${options}
      ${CMAKE_CUDA20_STANDARD_COMPILE_OPTION} -x cu)
  else()
    gemm_command_on_cpu(kernel "${arg_TRACED}")
    if(arg_TRACED)
      set(suffix _traced)
      set(prepared "\n  \"prepared\": \"${PROJECT_BINARY_DIR}/prepared/traced/kernel.hpp\",")
    endif()
  endif()
  gemm_json_strings(kernel ${kernel})
  gemm_places_of_kernels(definitions folders ${suffix})
  if(GEMM_DEVICE STREQUAL "cpu")  # nvcc's has none
    string(APPEND kernel ", \"-D$<JOIN:${definitions},\"$<COMMA> \"-D>\"")
  endif()
  string(APPEND kernel ", \"-I$<JOIN:${folders},\"$<COMMA> \"-I>\"")

  set(objects "")
  foreach(lesson IN LISTS lessons)
    list(APPEND objects "\"${lesson}\": [\"$<JOIN:$<TARGET_OBJECTS:${lesson}_kernel>,\"$<COMMA> \">\"]")
  endforeach()
  list(JOIN objects ", " objects)

  gemm_json_strings(link_before ${CMAKE_CXX_COMPILER} ${cxx_flags} ${CMAKE_CXX20_STANDARD_COMPILE_OPTION} ${link_flags})
  set(seen "")
  gemm_link_items(link_after seen ${main})
  gemm_json_strings(link_after ${link_after})
  file(GENERATE OUTPUT ${file} CONTENT "{
  \"kernel\": [${kernel}],${prepared}
  \"architectures\": {${architectures}},
  \"objects\": {${objects}},
  \"link_before\": [${link_before}],
  \"link_after\": [${link_after}]
}
")
endfunction()
