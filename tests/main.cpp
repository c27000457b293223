// Catch2 2.13's main(). Built only where the system has no library of it: 3.x always brings its own.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
