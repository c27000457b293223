# cmake -DPROGRAM=<program> -DCATCH=<2 or 3> -DLESSONS="<name>;…" -DOUTPUT=<file> -P discover.cmake
#   Writes what ctest reads: a test for each case of a Catch2 program, and for each lesson one of those tagged [lesson].
#   Cases tagged [long] are there once for a drawn lesson, or, with GEMM_TEST_ALL=1, for every lesson.
cmake_minimum_required(VERSION 3.24)
set(text "")

function(cases_of out specification)
  if(CATCH EQUAL 2)
    set(list --list-test-names-only)  # the status is their number
  else()
    set(list --list-tests --verbosity quiet)
  endif()
  execute_process(COMMAND ${PROGRAM} ${specification} ${list} OUTPUT_VARIABLE names RESULT_VARIABLE status)
  if(NOT status MATCHES "^[0-9]+$" OR (status AND NOT CATCH EQUAL 2))
    message(FATAL_ERROR "${PROGRAM} does not list its test cases: ${status}")
  endif()
  string(REGEX REPLACE "\n$" "" names "${names}")
  string(REPLACE ";" "\\;" names "${names}")
  string(REPLACE "\n" ";" names "${names}")
  set(${out} "${names}" PARENT_SCOPE)
endfunction()

# Adds a test: its name, the case, and more properties.
function(add name case)
  if(case IN_LIST offsets)  # which take half of a GPU's memory
    list(APPEND ARGN "RESOURCE_LOCK memory")
  endif()
  list(JOIN ARGN " " more)
  string(REGEX REPLACE "([][,\\])" "\\\\\\1" escaped "${case}")  # which mean something to Catch2
  string(APPEND text "add_test([==[${name}]==] [==[${PROGRAM}]==] [==[${escaped}]==])\n"
    "set_tests_properties([==[${name}]==] PROPERTIES TIMEOUT 1800 SKIP_REGULAR_EXPRESSION [==[Skipped: ]==] ${more})\n")
  set(text "${text}" PARENT_SCOPE)
endfunction()

cases_of(offsets "[offsets]")
# Long ones first, and the later lessons, which take longer: none is left to run alone at the end.
list(REVERSE LESSONS)
cases_of(long "[lesson][long]")
if(long)
  string(APPEND text "if(NOT \"\$ENV{GEMM_TEST_ALL}\" MATCHES \"^0?$\")\n")
  foreach(lesson IN LISTS LESSONS)
    foreach(case IN LISTS long)
      add("${lesson}/${case}" "${case}" "ENVIRONMENT GEMM_TEST_LESSON=${lesson}")
    endforeach()
  endforeach()
  string(APPEND text "else()\n")
  foreach(case IN LISTS long)
    add("${case}" "${case}")
  endforeach()
  string(APPEND text "endif()\n")
endif()
cases_of(short "[lesson]~[long]")
foreach(lesson IN LISTS LESSONS)
  foreach(case IN LISTS short)
    add("${lesson}/${case}" "${case}" "ENVIRONMENT GEMM_TEST_LESSON=${lesson}")
  endforeach()
endforeach()
cases_of(others "~[lesson]")
foreach(case IN LISTS others)
  add("${case}" "${case}")
endforeach()
file(WRITE ${OUTPUT} "${text}")
