# cmake -DBUILD=<build folder> -DWORK=<folder> -P own_program.cmake
#   The program of README.md, outside of this repository, with what `cmake --install` takes from the build: compiled, linked and
#   run. WORK is emptied first.
cmake_minimum_required(VERSION 3.24)
function(run out)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE errors)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command} ended with ${status}:\n${said}${errors}")
  endif()
  set(${out} "${said}" PARENT_SCOPE)
endfunction()

# What README.md shows in a language, below its heading.
file(READ ${CMAKE_CURRENT_LIST_DIR}/../README.md page)
string(REGEX REPLACE ".*\n## In a program of your own\n" "" page "${page}")
string(REGEX REPLACE "\n## .*" "\n" page "${page}")
function(shown out language)
  if(NOT page MATCHES "\n```${language}\n")
    message(FATAL_ERROR "README.md shows nothing in ${language} below \"In a program of your own\".")
  endif()
  string(REGEX REPLACE ".*\n```${language}\n" "" code "${page}")  # of the last one
  string(REGEX REPLACE "\n```.*" "\n" code "${code}")
  set(${out} "${code}" PARENT_SCOPE)
endfunction()
shown(program cpp)
shown(lists cmake)

file(REMOVE_RECURSE ${WORK})
file(WRITE ${WORK}/main.cpp "${program}")
file(WRITE ${WORK}/CMakeLists.txt "cmake_minimum_required(VERSION 3.24)\nproject(own LANGUAGES CXX)\n${lists}")
run(said ${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix --component gemm_course)
load_cache(${BUILD} READ_WITH_PREFIX of_ CMAKE_CXX_COMPILER CMAKE_GENERATOR)
run(said ${CMAKE_COMMAND} -S ${WORK} -B ${WORK}/build -G ${of_CMAKE_GENERATOR} -DCMAKE_PREFIX_PATH=${WORK}/prefix
  -DCMAKE_CXX_COMPILER=${of_CMAKE_CXX_COMPILER} -DCMAKE_BUILD_TYPE=Release)
run(said ${CMAKE_COMMAND} --build ${WORK}/build --config Release)
run(said ${WORK}/build/own)
if(NOT said STREQUAL "11 13\n14 16\n")
  message(FATAL_ERROR "README.md's program says:\n${said}")
endif()
