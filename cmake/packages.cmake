# Taken from the system where it has them (Debian: libcli11-dev, nlohmann-json3-dev, catch2), else fetched.
include(FetchContent)
set(FETCHCONTENT_QUIET OFF)

FetchContent_Declare(CLI11
  URL https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.4.2.tar.gz
  FIND_PACKAGE_ARGS NAMES CLI11)
FetchContent_Declare(nlohmann_json
  URL https://github.com/nlohmann/json/releases/download/v3.11.3/json.tar.xz
  FIND_PACKAGE_ARGS NAMES nlohmann_json)
FetchContent_Declare(Catch2
  URL https://github.com/catchorg/Catch2/archive/refs/tags/v3.7.1.tar.gz
  FIND_PACKAGE_ARGS NAMES Catch2)
FetchContent_MakeAvailable(CLI11 nlohmann_json Catch2)
