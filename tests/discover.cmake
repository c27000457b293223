# cmake -DPROGRAM=<program> -DCATCH=<2 or 3> -DLESSONS="<name>;…" -DTOGETHER=<ON or OFF> -DOUTPUT=<file> -P discover.cmake
#   Writes what ctest reads: a test for each case of a Catch2 program, and for each lesson one of those tagged [lesson].
#   Cases tagged [long] are there once for a drawn lesson, or, with GEMM_TEST_ALL=1, for every lesson.
#   TOGETHER: without GEMM_TEST_ALL=1 a lesson's cases are one test, and so are those of a topic, which is what their names
#   begin with before a colon. What a process of the CPU device does first, reading its own symbols and lines, takes longer
#   than most cases. Those tagged [alone] are tests of their own, because a machine may skip them.
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

# What Catch2 takes for the case of that name.
function(escape out case)
  string(REGEX REPLACE "([][,\\])" "\\\\\\1" escaped "${case}")  # which mean something to Catch2
  set(${out} "${escaped}" PARENT_SCOPE)
endfunction()

# Adds a test: its name, what Catch2 is asked for, and more properties.
function(add_specified name specification)
  list(JOIN ARGN " " more)
  string(APPEND text "add_test([==[${name}]==] [==[${PROGRAM}]==] [==[${specification}]==])\n"
    "set_tests_properties([==[${name}]==] PROPERTIES TIMEOUT 1800 ${more})\n")
  set(text "${text}" PARENT_SCOPE)
endfunction()

# Adds a test of one case: its name, the case, and more properties.
function(add name case)
  if(case IN_LIST offsets)  # which take half of a GPU's memory
    list(APPEND ARGN "RESOURCE_LOCK memory")
  endif()
  escape(escaped "${case}")
  add_specified("${name}" "${escaped}" "SKIP_REGULAR_EXPRESSION [==[Skipped: ]==]" ${ARGN})
  set(text "${text}" PARENT_SCOPE)
endfunction()

# Adds a test for each of the cases.
function(add_each)
  foreach(case IN LISTS ARGN)
    add("${case}" "${case}")
  endforeach()
  set(text "${text}" PARENT_SCOPE)
endfunction()

# Adds tests of the cases, each for every lesson.
function(add_for_lessons)
  foreach(lesson IN LISTS LESSONS)
    foreach(case IN LISTS ARGN)
      add("${lesson}/${case}" "${case}" "ENVIRONMENT GEMM_TEST_LESSON=${lesson}")
    endforeach()
  endforeach()
  set(text "${text}" PARENT_SCOPE)
endfunction()

# Adds a test for each lesson, and one for each topic.
function(add_together)
  if(short)
    foreach(lesson IN LISTS LESSONS)
      add_specified("${lesson}" "[lesson]~[long]~[alone]" "ENVIRONMENT GEMM_TEST_LESSON=${lesson}")
    endforeach()
  endif()
  set(topics "")
  foreach(case IN LISTS others)
    string(REGEX MATCH "^[^:]+" topic "${case}")
    list(APPEND topics "${topic}")
    escape(escaped "${case}")
    list(APPEND "of ${topic}" "${escaped}")
  endforeach()
  list(REMOVE_DUPLICATES topics)
  foreach(topic IN LISTS topics)
    list(JOIN "of ${topic}" "," specification)
    add_specified("${topic}" "${specification}")
  endforeach()
  set(text "${text}" PARENT_SCOPE)
endfunction()

cases_of(offsets "[offsets]")
cases_of(long "[lesson][long]")
cases_of(short "[lesson]~[long]~[alone]")
cases_of(short_alone "[lesson]~[long][alone]")
cases_of(others "~[lesson]~[alone]")
cases_of(others_alone "~[lesson][alone]")
# Long ones first, and the later lessons, which take longer: none is left to run alone at the end.
list(REVERSE LESSONS)
string(APPEND text "if(NOT \"\$ENV{GEMM_TEST_ALL}\" MATCHES \"^0?$\")\n")
add_for_lessons(${long})
add_for_lessons(${short})
add_each(${others})
string(APPEND text "else()\n")
add_each(${long})
if(TOGETHER)
  add_together()
else()
  add_for_lessons(${short})
  add_each(${others})
endif()
string(APPEND text "endif()\n")
add_for_lessons(${short_alone})
add_each(${others_alone})
file(WRITE ${OUTPUT} "${text}")
